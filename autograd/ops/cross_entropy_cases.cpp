// The cases of cross_entropy.
#include <fmt/format.h>
#include <algorithm>

#include "autograd/cases/op_cases.h"
#include "autograd/ops.h"
#include "kernels/cross_entropy/cross_entropy.h"

namespace heddle::cross_entropy_cases {
namespace {

using namespace cases;
using namespace kernels;

// ---- the proof

std::vector<GradientCase> proofs() {
    const Tensor targets = Tensor::from(std::vector<std::int32_t>{2, -1, 6, 0}, {4});
    const Tensor none = Tensor::from(std::vector<std::int32_t>{-1, -1}, {2});
    Tensor forbidden = random_input({4, 7}, 55, 2);
    for (const std::int64_t row : {0, 2, 3}) forbidden.mutable_data<double>()[row * 7 + 4] = -1e9;
    const auto loss = [](const Tensor& ids, const ops::LossOptions& options) -> GradientFunction {
        return [=](std::span<const Variable> in) { return ops::cross_entropy(in[0], beside(in[0], ids), options); };
    };
    return {
        {"cross_entropy", "an ignored target", loss(targets, {}), {random_input({4, 7}, 51, 2)}},
        {"cross_entropy", "label smoothing 0.2", loss(targets, {.label_smoothing = 0.2}), {random_input({4, 7}, 52, 2)}},
        {"cross_entropy", "label smoothing 0.2, forbidden logits", loss(targets, {.label_smoothing = 0.2}), {forbidden}},
        {"cross_entropy",
         "divisor 9, ignoring target 6",
         loss(Tensor::from(std::vector<std::int32_t>{2, 1, 6, 0}, {4}), {.ignore = 6, .divisor = 9}),
         {random_input({4, 7}, 53, 2)}},
        {"cross_entropy",
         "every target ignored",
         loss(none, {.label_smoothing = 0.1}),
         {random_input({2, 5}, 54)},
         {.zero_by_symmetry = {0}}},
    };
}

// ---- calls of the kernels

// Every fifth target is ignored, others are anywhere.
Tensor random_targets(std::int64_t rows, std::int64_t vocabulary, std::int64_t ignore) {
    Sequence random(11);
    std::vector<std::int32_t> ids;
    for (std::int64_t i = 0; i < rows; ++i)
        ids.push_back(static_cast<std::int32_t>(
            i % 5 == 4 ? ignore : static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(vocabulary)))));
    return Tensor::from(ids, {rows});
}

// Logits with the largest one twice in each row, so that the first of them must win.
Tensor logits_with_ties(std::int64_t rows, std::int64_t vocabulary) {
    Tensor logits = numbers({rows, vocabulary}, 4, 1, 3);
    for (std::int64_t row = 0; row < rows; ++row) {
        double* x = logits.mutable_data<double>() + row * vocabulary;
        const std::int64_t at = std::max_element(x, x + vocabulary) - x;
        x[(at + vocabulary / 2) % vocabulary] = x[at];
    }
    return logits;
}

// forbidden: the columns of logits of -1e9, which no target names.
void add_cross_entropy(std::vector<KernelCase>& cases, std::int64_t rows, std::int64_t vocabulary, const LossOptions& options,
                       const Allowed& allowed = {.f64 = 1e-13, .f32 = 3e-6}, RunsOn runs = RunsOn::everywhere,
                       const std::vector<std::int32_t>& forbidden = {}) {
    const std::string what =
        std::to_string(rows) + " x " + std::to_string(vocabulary) + (forbidden.empty() ? "" : ", forbidden tokens");
    Tensor logits = logits_with_ties(rows, vocabulary), targets = random_targets(rows, vocabulary, options.ignore);
    for (const std::int32_t column : forbidden)
        for (std::int64_t row = 0; row < rows; ++row) {
            logits.mutable_data<double>()[row * vocabulary + column] = -1e9;
            std::int32_t& target = targets.mutable_data<std::int32_t>()[row];
            if (target == column) target = options.ignore;
        }
    const OpFunction backward = [options](const Tensors& in) {
        return Tensors{cross_entropy_backward(in[2], in[0], in[1], options)};
    };
    KernelCase one{.what = what,
                   .inputs = {logits, targets, Tensor::full({}, 1.75, DType::f64)},
                   .run =
                       [options, backward](const Tensors& in) {
                           return Tensors{cross_entropy_forward(in[0], in[1], options).loss, backward(in)[0]};
                       },
                   .allowed = allowed,
                   .runs = runs};
    cases.push_back(one);
    // Apart: the loss is not compared with the number of targets. Logits out of place are tried above.
    one.what += ", statistics";
    one.run = [options](const Tensors& in) {
        const Tensor all = cross_entropy_forward(in[0], in[1], options).statistics;
        return Tensors{all.slice(0, 1), all.slice(1, 2), all.slice(2, 4)};
    };
    one.allowed.f32 = 1e-5;
    one.offset = KernelCase::no_offset;
    one.results = DType::f64;
    cases.push_back(one);
    one.results.reset();
    if (options.divisor == 0) return;  // then each row's gradient depends on how many targets count
    one.what = what + ", row by row";
    one.run = backward;
    one.allowed = allowed;
    one.by_row = 2;
    one.nan = NanSpreads::over_its_row;
    cases.push_back(one);
}

std::vector<KernelCase> kernel_cases() {
    std::vector<KernelCase> cases;
    add_cross_entropy(cases, 1, 1, {});
    add_cross_entropy(cases, 0, 8, {.label_smoothing = 0.1});
    add_cross_entropy(cases, 33, 31, {.label_smoothing = 0.1, .divisor = 20});
    add_cross_entropy(cases, 5, 32, {.divisor = 7});
    add_cross_entropy(cases, 40, 127, {.label_smoothing = 0.2, .ignore = 3});
    for (const std::int64_t vocabulary : {33, 64, 1025, 1032}) add_cross_entropy(cases, 3, vocabulary, {.label_smoothing = 0.1});
    add_cross_entropy(cases, 4, 4096, {});
    add_cross_entropy(cases, 300, 513, {.label_smoothing = 0.1}, {.f64 = 1e-13, .f32 = 3e-6}, RunsOn::on_the_cpu);
    for (const std::int64_t vocabulary : {32768, 100001})  // they are read again
        add_cross_entropy(cases, 2, vocabulary, {.label_smoothing = 0.1}, {.f64 = 1e-12, .f32 = 1e-5}, RunsOn::unwatched);
    add_cross_entropy(cases, 7, 45, {.label_smoothing = 0.1, .divisor = 6}, {.f64 = 1e-13, .f32 = 3e-6}, RunsOn::everywhere,
                      {0, 2, 33, 44});
    add_cross_entropy(cases, 5, 1032, {.label_smoothing = 0.3}, {.f64 = 1e-13, .f32 = 3e-6}, RunsOn::everywhere, {2, 640});
    add_cross_entropy(cases, 5, 1032, {.divisor = 3}, {.f64 = 1e-13, .f32 = 3e-6}, RunsOn::everywhere, {2, 640});
    for (const double divisor : {0.0, 10.0}) {  // every target is ignored
        const LossOptions options{.label_smoothing = 0.1, .ignore = 2, .divisor = divisor};
        KernelCase one{.what = "all ignored",
                       .inputs = {numbers({3, 40}, 1), Tensor::full({3}, 2, DType::i32), Tensor::full({}, 1, DType::f64)},
                       .run =
                           [options](const Tensors& in) {
                               return Tensors{cross_entropy_forward(in[0], in[1], options).loss,
                                              cross_entropy_backward(in[2], in[0], in[1], options)};
                           },
                       .formula =
                           [](const Tensors&) {
                               return Tensors{Tensor::zeros({}, DType::f64), Tensor::zeros({3, 40}, DType::f64)};
                           },
                       .exact = true};
        cases.push_back(one);
        one.what += ", statistics";
        one.run = [options](const Tensors& in) { return Tensors{cross_entropy_forward(in[0], in[1], options).statistics}; };
        one.formula = [](const Tensors&) { return Tensors{Tensor::zeros({4}, DType::f64)}; };
        one.results = DType::f64;
        cases.push_back(one);
    }
    return cases;
}

// ---- a random call

std::optional<Step> draw(Draw& draw) {
    Step step{.inputs = {draw.any(2, 2)}};
    draw.loss(step, draw.shape_of(step.inputs[0]).rows(), draw.shape_of(step.inputs[0]).cols());
    return step;
}

// ---- what is timed

std::vector<BenchCase> bench(const BenchSetting& on) {
    const std::int64_t rows = on.some_rows, vocabulary = on.vocabulary;
    const double traffic = on.bytes(static_cast<double>(rows * vocabulary));
    return {{.op = "cross_entropy",
             .what = fmt::format("[{}, {}]", rows, vocabulary),
             .make_run = [=]() -> Run {
                 const Variable logits = leaf({rows, vocabulary}, on);
                 const Tensor targets = random_tokens(rows, vocabulary, on);
                 return [=] { return ops::cross_entropy(fresh(logits), targets, {.label_smoothing = 0.1}); };
             },
             .forward_bytes = traffic,
             .backward_bytes = 2 * traffic}};
}

// ---- what is explained

void explain_cross_entropy(Session& s, Extents d) {
    const Tensor logits = s.input("logits", randn(d, 1)), targets = s.input("targets", some_indices(d[0], d[1]));
    CrossEntropyResult result;
    s.trace([&] { result = cross_entropy_forward(logits, targets, {.label_smoothing = 0.1}); });
    s.name("loss", result.loss);
    s.name("statistics", result.statistics);
}

void explain_cross_entropy_dx(Session& s, Extents d) {
    const Tensor logits = s.input("logits", randn(d, 1)), targets = s.input("targets", some_indices(d[0], d[1]));
    const Tensor dloss = s.input("dloss", Tensor::full({}, 1));
    traced(s, "dlogits", [&] { return cross_entropy_backward(dloss, logits, targets, {.label_smoothing = 0.1}); });
}

}  // namespace

OpCases table() {
    return {.name = "cross_entropy",
            .place = 19,
            .proofs = proofs,
            .kernels = kernel_cases,
            .large = true,
            .functions = {{"cross_entropy", draw,
                           [](const Step& s, Inputs in) -> Outputs {
                               return {ops::cross_entropy(in[0], s.constant("targets"), s.loss())};
                           },
                           "return loss(inputs[0], options, constants)"}},
            .benches = {{.cases = bench, .place = 50}},
            .example_place = 22,
            .examples = {{"cross-entropy",
                          "the loss of each row of logits, with label smoothing",
                          "rows, vocabulary",
                          {4, 64},
                          explain_cross_entropy},
                         {"cross-entropy-backward",
                          "the gradient of the loss for its logits",
                          "rows, vocabulary",
                          {4, 64},
                          explain_cross_entropy_dx}}};
}

}  // namespace heddle::cross_entropy_cases
