// The cases of swish.
#include "autograd/cases/op_cases.h"
#include "autograd/ops.h"
#include "kernels/swish/swish.h"

namespace heddle::swish_cases {
namespace {

using namespace cases;
using namespace kernels;

std::vector<GradientCase> proofs() {
    const auto run = [](auto in) { return ops::swish(in[0], in[1]); };
    return {{"swish", "4 rows", run, {random_input({4, 3}, 1), random_input({3}, 2)}},
            {"swish", "one row, steep", run, {random_input({1, 5}, 3, 2), random_input({5}, 4, 5)}}};
}

std::vector<KernelCase> kernel_cases() {
    std::vector<KernelCase> cases;
    for (const Shape& shape : {Shape{0, 3}, {3, 0}, {1, 1}, {31, 7}, {32, 8}, {33, 127}, {257, 1025}}) {
        // Exponential and division in f32: some units in the last place of the largest result.
        KernelCase one{.what = shape.str(),
                       .inputs = {numbers(shape, 1, 0, 3), numbers({shape.cols()}, 2, 1, 2)},
                       .run = [](const Tensors& in) { return Tensors{swish_forward(in[0], in[1])}; },
                       .allowed = {.f64 = 1e-13, .f32 = 2e-6},
                       .by_row = 1,
                       .nan = NanSpreads::nowhere};
        cases.push_back(one);
        one.what += ", backward";
        one.inputs.insert(one.inputs.end(), {numbers(shape, 3), Tensor::full({shape.cols()}, 0.5, DType::f64)});
        one.run = [](const Tensors& in) { return Tensors{swish_backward(in[2], in[0], in[1], in[3]), in[3]}; };
        one.sums = 1;
        one.by_row = 0;
        one.nan = NanSpreads::unknown;
        cases.push_back(one);
    }
    return cases;
}

std::optional<Step> draw(Draw& draw) { return Step{.inputs = draw.with_row(draw.any(2, 2))}; }
Outputs apply(const Step&, Inputs in) { return {ops::swish(in[0], in[1])}; }

std::vector<BenchCase> bench(const BenchSetting& on) {
    return {row_case(on, "swish", "", 2, 3, [](const RowInputs& in) { return ops::swish(fresh(in.x), in.beta); })};
}

void explain(Session& s, Extents d) {
    const Tensor x = s.input("x", randn(d, 1)), beta = s.input("beta", row(d[1], 2));
    Tensor y;
    s.trace([&] { y = swish_forward(x, beta); });
    s.name("y", y);
}

}  // namespace

OpCases table() {
    return {.name = "swish",
            .proofs = proofs,
            .kernels = kernel_cases,
            .functions = {{"swish", draw, apply, "return [inputs[0] * torch.sigmoid(inputs[1] * inputs[0])]"}},
            .benches = {{bench}},
            .examples = {{"swish", "x sigmoid(beta x)", "rows, cols", {4, 64}, explain}}};
}

}  // namespace heddle::swish_cases
