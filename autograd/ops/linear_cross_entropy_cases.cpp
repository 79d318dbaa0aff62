// The cases of linear_cross_entropy.
#include <fmt/format.h>
#include <algorithm>

#include "autograd/cases/op_cases.h"
#include "autograd/ops.h"
#include "kernels/cross_entropy/cross_entropy.h"
#include "kernels/linear/linear.h"
#include "kernels/linear_cross_entropy/linear_cross_entropy.h"

namespace heddle::linear_cross_entropy_cases {
namespace {

using namespace cases;
using namespace kernels;

// ---- the proof

std::vector<GradientCase> proofs() {
    std::vector<GradientCase> cases;
    const std::vector<Tensor> inputs = {random_input({5, 3}, 1), random_input({7, 3}, 2), random_input({7}, 3)};
    const auto add = [&](const char* what, std::vector<std::int32_t> targets, ops::LossOptions options) {
        const Tensor target = Tensor::from(targets, {static_cast<std::int64_t>(targets.size())});
        cases.push_back({"linear_cross_entropy", what,
                         [=](auto in) { return ops::linear_cross_entropy(in[0], in[1], in[2], beside(in[0], target), options); },
                         inputs});
    };
    add("mean", {0, 6, 3, 3, 1}, {});
    add("label smoothing 0.1", {0, 6, 3, 3, 1}, {.label_smoothing = 0.1});
    add("ignored targets", {0, -1, 3, -1, 1}, {.label_smoothing = 0.1});
    add("all targets ignored", {-1, -1, -1, -1, -1}, {});
    cases.back().options.zero_by_symmetry = {0, 1, 2};
    add("sum over a given divisor", {0, 6, 3, 3, 1}, {.label_smoothing = 0.2, .divisor = 40});
    add("label smoothing 0.1, a forbidden token", {0, 6, 3, 3, 1}, {.label_smoothing = 0.1});
    cases.back().inputs[2] = inputs[2].clone();
    cases.back().inputs[2].mutable_data<double>()[2] = -1e9;
    const Tensor target = Tensor::from(std::vector<std::int32_t>{2, 0, 6, 4, 4}, {5});
    cases.push_back({"linear_cross_entropy",
                     "without bias",
                     [=](auto in) { return ops::linear_cross_entropy(in[0], in[1], {}, beside(in[0], target)); },
                     {inputs[0], inputs[1]}});
    return cases;
}

// ---- calls of the kernels

// inputs: x, weight, bias, targets.
Tensors loss_run(const Tensors& in, const LossOptions& options) {
    const auto made = linear_cross_entropy(in[0], in[1], in[2], in[3], options, {true, true, in[2].defined()});
    return {made.loss, made.dx, made.dweight, made.dbias};
}

// The loss of all logits, and its gradients. `round`: every result that the plain bf16 computation writes.
Tensors composed_loss(const Tensors& in, const LossOptions& options, Tensor (*round)(const Tensor&)) {
    const DType dtype = in[0].dtype();
    const Tensor logits = round(linear_forward(in[0], in[1], in[2]));
    const Tensor dlogits = round(cross_entropy_backward(Tensor::full({}, 1, dtype), logits, in[3], options));
    Tensor dweight = Tensor::zeros(in[1].shape(), dtype), dbias;
    linear_backward_weight(dlogits, in[0], dweight);
    if (in[2].defined()) {
        dbias = Tensor::zeros({in[1].dim(0)}, dtype);
        linear_backward_bias(dlogits, dbias);
    }
    return {round(cross_entropy_forward(logits, in[3], options).loss), round(linear_backward_x(dlogits, in[1])), dweight, dbias};
}

struct Loss {
    std::int64_t rows, d_model, vocabulary;
    double smoothing = 0, divisor = 0;
    bool bias = true;
    double spread = 0.7;   // of weights and inputs
    bool forbids = false;  // word 2 and the last one, which no target names
};

void add_loss(std::vector<KernelCase>& cases, const Loss& at) {
    std::vector<std::int32_t> ids;
    for (std::int64_t i = 0; i < at.rows; ++i) ids.push_back(i % 5 == 3 ? -1 : static_cast<std::int32_t>(i * 7 % at.vocabulary));
    Tensor bias = at.bias ? numbers({at.vocabulary}, 3) : Tensor();
    if (at.forbids)
        for (const std::int64_t word : {std::int64_t{2}, at.vocabulary - 1}) {
            bias.mutable_data<double>()[word] = -1e9;
            std::replace(ids.begin(), ids.end(), static_cast<std::int32_t>(word), -1);
        }
    const LossOptions options{.label_smoothing = at.smoothing, .divisor = at.divisor};
    KernelCase one{
        .what =
            std::to_string(at.rows) + " rows of " + std::to_string(at.d_model) + ", " + std::to_string(at.vocabulary) + " words",
        .inputs = {numbers({at.rows, at.d_model}, 1, 0, at.spread), numbers({at.vocabulary, at.d_model}, 2, 0, at.spread), bias,
                   Tensor::from(ids, {at.rows})},
        .run = [options](const Tensors& in) { return loss_run(in, options); },
        .allowed = {.f64 = 1e-13, .f32 = 5e-6},
        .formula = [options](const Tensors& in) { return composed_loss(in, options, [](const Tensor& exact) { return exact; }); },
        .plain = [options](const Tensors& in) { return composed_loss(in, options, through_bf16); },
        .offset = KernelCase::no_offset,
        .rounds_within = true};
    cases.push_back(one);
    one.what += ", statistics";  // in bf16 two logits may round to one
    one.run = [options](const Tensors& in) {
        const Tensor all = linear_cross_entropy(in[0], in[1], in[2], in[3], options, {false, false, false}).statistics;
        return Tensors{all.slice(0, 1), all.slice(1, 2), all.slice(2, 4)};
    };
    one.formula = one.plain = {};
    one.results = DType::f64;
    one.in_bf16 = false;
    cases.push_back(one);
}

std::vector<KernelCase> kernel_cases() {
    std::vector<KernelCase> cases;
    for (const Loss& at : {Loss{1, 5, 7},
                           {33, 8, 32, 0.1},
                           {31, 31, 33, 0.1, 40, false},
                           {40, 16, 127, 0.2},
                           {3, 4, 1025, 0.1},
                           {2, 8, 2064},
                           {4, 1, 3, 0, 0, true, 100},
                           {0, 4, 5, 0.1},
                           {33, 8, 40, 0.1, 0, true, 0.7, true},
                           {5, 8, 40, 0, 7, true, 0.7, true},
                           {150, 8, 40, 0.1}})
        add_loss(cases, at);
    for (const std::int64_t rows : {192, 193, 400, 500}) {  // around the chunks of rows
        add_loss(cases, {rows, 16, 70, 0.1});
        for (KernelCase* one : {&cases[cases.size() - 1], &cases[cases.size() - 2]}) one->runs = RunsOn::on_the_cpu;
    }
    return cases;
}

// ---- a random call

std::optional<Step> draw(Draw& draw) {
    const Number x = draw.any(2, 2);
    const std::int64_t vocabulary = draw.between(2, draw.alone() ? 40 : 5);
    const Number weight = draw.of({vocabulary, draw.shape_of(x).cols()});
    Step step{.inputs = {x, weight, draw.chance(0.6) ? draw.of({vocabulary}) : kNone}};
    draw.loss(step, draw.shape_of(x).rows(), vocabulary);
    return step;
}

// ---- what is timed

std::vector<BenchCase> bench(const BenchSetting& on) {
    const std::int64_t rows = on.large() ? 16384 : on.rows(), d_model = on.d_model, vocabulary = on.vocabulary;
    const auto operations = 2.0 * static_cast<double>(rows) * static_cast<double>(d_model * vocabulary);
    const auto traffic = on.bytes(static_cast<double>(rows * d_model + vocabulary * d_model));
    return {{.op = "linear_cross_entropy",
             .what = fmt::format("[{}, {}] x [{}, {}]^T; forward makes the gradients", rows, d_model, vocabulary, d_model),
             .make_run = [=]() -> Run {
                 const Variable x = leaf({rows, d_model}, on), weight = leaf({vocabulary, d_model}, on);
                 const Tensor targets = random_tokens(rows, vocabulary, on);
                 return [=] { return ops::linear_cross_entropy(fresh(x), weight, {}, targets, {.label_smoothing = 0.1}); };
             },
             .forward_operations = 3 * operations,
             .backward_operations = 0,
             .formula = "6 rows d_model vocabulary, all forward",
             .forward_bytes = 2 * traffic,
             .backward_bytes = 2 * traffic}};
}

}  // namespace

OpCases table() {
    return {.name = "linear_cross_entropy",
            .place = 20,
            .proofs = proofs,
            .kernels = kernel_cases,
            .functions = {{"linear_cross_entropy", draw,
                           [](const Step& s, Inputs in) -> Outputs {
                               return {ops::linear_cross_entropy(in[0], in[1], in[2], s.constant("targets"), s.loss())};
                           },
                           "return loss(F.linear(*inputs), options, constants)"}},
            .benches = {{.cases = bench, .place = 40}}};
}

}  // namespace heddle::linear_cross_entropy_cases
