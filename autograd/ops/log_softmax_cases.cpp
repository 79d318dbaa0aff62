// The cases of log_softmax.
#include <algorithm>
#include <cmath>

#include "autograd/cases/op_cases.h"
#include "autograd/ops.h"
#include "kernels/log_softmax/log_softmax.h"

namespace heddle::log_softmax_cases {
namespace {

using namespace cases;
using namespace kernels;

// ---- the proof

std::vector<GradientCase> proofs() {
    const GradientFunction function = [](auto in) { return ops::log_softmax(in[0]); };
    return {
        {"log_softmax", "plain", function, {random_input({3, 7}, 15, 2)}},
        {"log_softmax", "the middle axis", [](auto in) { return ops::log_softmax(in[0], 1); }, {random_input({2, 3, 4}, 17, 2)}},
        {"log_softmax", "far apart", function, {random_input({2, 5}, 16, 30)}},
    };
}

// ---- calls of the kernels

// Narrow and wide rows, in vectors and one by one.
const std::int64_t kWidths[] = {1, 2, 24, 31, 32, 33, 127, 256, 257, 264, 1024, 1025, 1032, 2056};

// A pair of cases, forward and backward, for rows of this width.
void add_log_softmax(std::vector<KernelCase>& cases, std::int64_t rows, std::int64_t cols, const Allowed& allowed,
                     RunsOn runs = RunsOn::everywhere) {
    const Tensor x = numbers({rows, cols}, 5, 0, 3);
    KernelCase forward{.what = std::to_string(rows) + " x " + std::to_string(cols),
                       .inputs = {x},
                       .run = [](const Tensors& in) { return Tensors{log_softmax_forward(in[0])}; },
                       .allowed = allowed,
                       .runs = runs,
                       .by_row = 1,
                       .nan = NanSpreads::over_its_row};
    if (runs == RunsOn::everywhere && cols <= 1025) {
        forward.on_cpu = Allowed{1e-13, 1e-6};
        forward.formula = [](const Tensors& in) {
            Tensor y = in[0].clone();
            for (std::int64_t row = 0; row < y.rows(); ++row) {
                Tensor line = y.slice(row, row + 1);
                const auto values = line.mutable_values<double>();
                if (values.empty()) continue;
                const double largest = *std::max_element(values.begin(), values.end());
                double total = 0;
                for (const double value : values) total += std::exp(value - largest);
                for (double& value : values) value = value - largest - std::log(total);
            }
            return Tensors{y};
        };
    }
    cases.push_back(forward);
    cases.push_back({.what = forward.what + ", backward",
                     .inputs = {numbers({rows, cols}, 6), log_softmax_forward(x)},
                     .run = [](const Tensors& in) { return Tensors{log_softmax_backward(in[0], in[1])}; },
                     .allowed = allowed,
                     .offset = KernelCase::each_offset,
                     .runs = runs,
                     .by_row = 2});
}

std::vector<KernelCase> kernel_cases() {
    std::vector<KernelCase> cases;
    for (const std::int64_t cols : kWidths) add_log_softmax(cases, 5, cols, {.f64 = 1e-13, .f32 = 2e-6});
    for (const Shape& shape : {Shape({0, 5}), Shape({3, 0})}) add_log_softmax(cases, shape[0], shape[1], {});
    for (const std::int64_t cols : {32768, 65535})
        add_log_softmax(cases, 2, cols, {.f64 = 1e-12, .f32 = 1e-5}, RunsOn::unwatched);
    add_log_softmax(cases, 700, 65, {.f64 = 1e-13, .f32 = 2e-6}, RunsOn::on_the_cpu);
    for (const std::int64_t cols : {8, 1032}) {  // a -infinity, nothing else, an infinity, a NaN
        Tensor x = numbers({4, cols}, 1);
        x.mutable_data<double>()[3] = -kInfinity;
        std::fill_n(x.mutable_data<double>() + cols, cols, -kInfinity);
        x.mutable_data<double>()[2 * cols + 1] = kInfinity;
        x.mutable_data<double>()[3 * cols + 1] = std::nan("");
        KernelCase forward{.what = "infinities and a NaN",
                           .inputs = {x},
                           .run = [](const Tensors& in) { return Tensors{log_softmax_forward(in[0])}; },
                           .allowed = {.f64 = 1e-13, .f32 = 2e-6}};
        // By hand: the second row stays, those behind it have no distribution.
        forward.formula = [cols](const Tensors& in) {
            Tensor y = Tensor::full({4, cols}, std::nan(""), DType::f64);
            y.slice(0, 2).copy_(log_softmax_forward(in[0].slice(0, 2)));
            y.slice(1, 2).fill_(-kInfinity);
            y.mutable_data<double>()[3] = -kInfinity;
            return Tensors{y};
        };
        cases.push_back(forward);
        // A row of nothing but -infinity sends no gradient.
        cases.push_back({.what = "backward of a row of -infinity",
                         .inputs = {numbers({1, cols}, 2), Tensor::full({1, cols}, -kInfinity, DType::f64)},
                         .run = [](const Tensors& in) { return Tensors{log_softmax_backward(in[0], in[1])}; },
                         .formula =
                             [cols](const Tensors&) {
                                 return Tensors{Tensor::zeros({1, cols}, DType::f64)};
                             },
                         .exact = true});
    }
    return cases;
}

// ---- a random call

std::optional<Step> draw(Draw& draw) {
    const Number x = draw.any(1, 3);
    const int rank = draw.shape_of(x).rank();
    return Step{.inputs = {x}, .options = {{"axis", draw.chance(0.5) ? -1 : draw.between(-rank, rank - 1)}}};
}

// ---- what is timed

std::vector<BenchCase> bench(const BenchSetting& on) {
    return {row_case(on, "log_softmax", "", 2, 3, [](const RowInputs& in) { return ops::log_softmax(fresh(in.x)); })};
}

std::vector<BenchCase> bench_wide(const BenchSetting& on) { return bench(wide_rows(on)); }

// ---- what is explained

void explain_log_softmax(Session& s, Extents d) {
    map<[](const Tensor& x) { return log_softmax_forward(x); }>(s, d);
}

}  // namespace

OpCases table() {
    return {.name = "log_softmax",
            .place = 15,
            .proofs = proofs,
            .kernels = kernel_cases,
            .large = true,
            .functions = {{"log_softmax", draw,
                           [](const Step& s, Inputs in) -> Outputs { return {ops::log_softmax(in[0], s.option<int>("axis"))}; },
                           "return [F.log_softmax(inputs[0], options['axis'])]"}},
            .benches = {{.cases = bench, .place = 120},
                        {.cases = at_row_shapes<bench>, .place = 120, .sizes = "rows"},
                        {.cases = bench_wide, .place = 320, .sizes = "large"}},
            .example_place = 18,
            .examples = {{"log-softmax", "the logarithm of softmax", "rows, cols", {4, 64}, explain_log_softmax}}};
}

}  // namespace heddle::log_softmax_cases
