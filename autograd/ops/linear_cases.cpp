// The cases of linear.
#include <fmt/format.h>

#include "autograd/cases/op_cases.h"
#include "autograd/ops.h"
#include "kernels/linear/linear.h"

namespace heddle::linear_cases {
namespace {

using namespace cases;
using namespace kernels;

// ---- the proof

std::vector<GradientCase> proofs() {
    const auto with_bias = [](auto in) { return ops::linear(in[0], in[1], in[2]); };
    const auto without = [](auto in) { return ops::linear(in[0], in[1]); };
    return {
        {"linear", "with bias", with_bias, {random_input({5, 3}, 1), random_input({4, 3}, 2), random_input({4}, 3)}},
        {"linear", "without bias", without, {random_input({5, 3}, 1), random_input({4, 3}, 2)}},
        {"linear", "one row", with_bias, {random_input({1, 3}, 1), random_input({4, 3}, 2), random_input({4}, 3)}},
        {"linear", "three axes", with_bias, {random_input({2, 2, 3}, 1), random_input({4, 3}, 2), random_input({4}, 3)}},
        {"linear", "a vector", with_bias, {random_input({3}, 1), random_input({4, 3}, 2), random_input({4}, 3)}},
        {"linear", "wider than a panel", with_bias, {random_input({3, 2}, 1), random_input({37, 2}, 2), random_input({37}, 3)}}};
}

// ---- calls of the kernels

// Sums of up to 200 products, each rounded once: some multiples of the last place.
constexpr Allowed kSums{.f64 = 1e-14, .f32 = 3e-6};

std::vector<KernelCase> kernel_cases() {
    struct Map {
        std::int64_t rows, in, out;
    };
    std::vector<KernelCase> cases;
    for (const Map& at :
         {Map{1, 1, 1}, {33, 31, 32}, {127, 33, 17}, {300, 8, 1025}, {0, 3, 4}, {5, 0, 4}, {40, 5, 24}, {40, 5, 33}}) {
        const Tensor weight = numbers({at.out, at.in}, 2), bias = numbers({at.out}, 3);
        cases.push_back({.what = std::to_string(at.rows) + " rows, " + std::to_string(at.in) + " to " + std::to_string(at.out),
                         .inputs = {numbers({at.rows, at.in}, 1), numbers({at.rows, at.out}, 4), weight, bias, weight, bias},
                         .run =
                             [](const Tensors& in) {
                                 Tensor dweight = in[4], dbias = in[5];
                                 linear_backward_weight(in[1], in[0], dweight);
                                 linear_backward_bias(in[1], dbias);
                                 return Tensors{linear_forward(in[0], in[2], in[3]), linear_forward(in[0], in[2], {}),
                                                linear_backward_x(in[1], in[2]), dweight, dbias};
                             },
                         .allowed = kSums,
                         .sums = 2});
    }
    cases.push_back({.what = "a row's bits",
                     .inputs = {numbers({200, 31}, 1), numbers({33, 31}, 2), numbers({33}, 3)},
                     .run = [](const Tensors& in) { return Tensors{linear_forward(in[0], in[1], in[2])}; },
                     .allowed = kSums,
                     .by_row = 1,
                     .nan = NanSpreads::over_its_row});
    // More rows than 256 parts of 128: parts grow.
    cases.push_back({.what = "the bias's gradient of 65,536 rows",
                     .inputs = {numbers({65536, 3}, 1), Tensor::zeros({3}, DType::f64)},
                     .run =
                         [](const Tensors& in) {
                             Tensor dbias = in[1];
                             linear_backward_bias(in[0], dbias);
                             return Tensors{dbias};
                         },
                     .allowed = {.f64 = 1e-12, .f32 = 3e-5},
                     .offset = KernelCase::no_offset,
                     .runs = RunsOn::unwatched});
    return cases;
}

// ---- a random call

std::optional<Step> draw(Draw& draw) {
    const Number x = draw.any(1, 3);
    const std::int64_t out = draw.between(1, draw.alone() ? 40 : 5);  // more than one panel of outputs
    const Number weight = draw.of({out, draw.shape_of(x).cols()});
    return Step{.inputs = {x, weight, draw.chance(0.7) ? draw.of({out}) : kNone}};
}

// ---- what is timed

BenchCase product(const BenchSetting& on, std::int64_t rows, std::int64_t in, std::int64_t out) {
    const auto operations = 2.0 * static_cast<double>(rows) * static_cast<double>(in * out);
    const auto traffic = on.bytes(static_cast<double>(rows * in + in * out + rows * out));
    return {.op = "linear",
            .what = fmt::format("[{}, {}] x [{}, {}]^T", rows, in, out, in),
            .make_run = [=]() -> Run {
                const Variable x = leaf({rows, in}, on), weight = leaf({out, in}, on), bias = leaf({out}, on);
                return [=] { return ops::linear(fresh(x), weight, bias); };
            },
            .forward_operations = operations,
            .backward_operations = 2 * operations,
            .formula = "2 rows in out forward, twice that backward",
            .forward_bytes = traffic,
            .backward_bytes = 2 * traffic};
}

std::vector<BenchCase> bench(const BenchSetting& on) {
    if (on.large()) return {product(on, 16384, 2048, 2048), product(on, 16384, 2048, 8192)};
    return {product(on, on.rows(), on.d_model, 3 * on.d_model), product(on, on.rows(), on.d_model, on.d_model),
            product(on, on.rows(), on.d_model, on.d_ff), product(on, on.rows(), on.d_ff, on.d_model),
            product(on, on.rows(), 2 * on.d_model, 8 * on.d_model)};
}

}  // namespace

OpCases table() {
    return {.name = "linear",
            .place = 9,
            .proofs = proofs,
            .kernels = kernel_cases,
            .large = true,
            .functions = {{"linear", draw, [](const Step&, Inputs in) -> Outputs { return {ops::linear(in[0], in[1], in[2])}; },
                           "return [F.linear(*inputs)]"}},
            .benches = {{.cases = bench, .place = 10}}};
}

}  // namespace heddle::linear_cases
