#include "kernels/softmax/softmax.h"

#include "autograd/bench_cases.h"
#include "autograd/ops.h"
#include "autograd/proofs.h"
#include "kernels/reduce/reduce.h"

namespace heddle::ops {

Variable softmax(const Variable& x, const Tensor& mask, const SoftmaxReach& reach, const SoftmaxScores& scores, Where where) {
    const bool biased = scores.bias.defined();
    Tensor y = kernels::softmax_forward(x.value(), mask, reach, {scores.scale, biased ? scores.bias.value() : Tensor()});
    std::vector<Variable> inputs{x};
    if (biased) inputs.push_back(scores.bias);
    return record(y, {.op = "softmax",
                      .where = where,
                      .inputs = std::move(inputs),
                      .saved = {y},
                      .backward = [scale = scores.scale, bias = biased ? scores.bias.shape() : Shape()](Gradients& g) {
                          if (g.needs(0)) g.give(0, kernels::softmax_backward(g.output(), g.saved(0), scale));
                          if (bias.rank() > 0 && g.needs(1))
                              g.give(1, kernels::sum_to(kernels::softmax_backward(g.output(), g.saved(0)), bias));
                      }});
}

}  // namespace heddle::ops

namespace heddle::proofs {
namespace {

GradientFunction masked(const Tensor& mask) {
    return [mask](std::span<const Variable> in) { return ops::softmax(in[0], beside(in[0], mask)); };
}

// Inputs: x and the bias.
GradientFunction biased(double scale, const Tensor& mask) {
    return [=](std::span<const Variable> in) {
        return ops::softmax(in[0], beside(in[0], mask), {}, {.scale = scale, .bias = in[1]});
    };
}

}  // namespace

std::vector<GradientCase> softmax() {
    const Tensor per_row = Tensor::from(std::vector<std::uint8_t>{1, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0}, {3, 4});
    const Tensor whole = Tensor::from(std::vector<std::uint8_t>{1, 1, 0, 1, 0, 1, 0, 0, 1, 1, 1, 1}, {2, 2, 3});
    const Tensor lengths = Tensor::from(std::vector<std::int32_t>{2, 4}, {2});
    const GradientFunction reaching = [lengths](std::span<const Variable> in) {
        return ops::softmax(in[0], {}, {.lengths = beside(in[0], lengths), .causal = true});
    };
    return {
        {"softmax", "key lengths and causal", reaching, {random_input({2, 3, 4}, 17)}},
        {"softmax", "plain", masked({}), {random_input({3, 7}, 11, 2)}},
        {"softmax", "three axes, the mask of the last two; a masked row", masked(per_row), {random_input({2, 3, 4}, 12)}},
        {"softmax", "a mask of the whole shape; a masked row", masked(whole), {random_input({2, 2, 3}, 13)}},
        {"softmax",
         "scale -1.3",
         [](std::span<const Variable> in) { return ops::softmax(in[0], {}, {}, {.scale = -1.3}); },
         {random_input({3, 7}, 15)}},
        {"softmax",
         "scale and a bias of the whole shape, a masked row",
         biased(0.7, whole),
         {random_input({2, 2, 3}, 16), random_input({2, 2, 3}, 18)}},
        {"softmax",
         "a bias of the last two axes, a masked row",
         biased(1, per_row),
         {random_input({2, 3, 4}, 19), random_input({3, 4}, 20)}},
        {"softmax", "scale and a bias of the last axis", biased(2, {}), {random_input({2, 3, 4}, 21), random_input({4}, 22)}},
        {"softmax", "one column", masked({}), {random_input({4, 1}, 14)}, {.zero_by_symmetry = {0}}},
    };
}

}  // namespace heddle::proofs

namespace heddle::benches {

std::vector<OpCase> softmax(const Setting& on, std::int64_t rows, std::int64_t cols) {
    return {row_case(on, rows, cols, "softmax", "", 2, 3, [](const RowInputs& in) { return ops::softmax(fresh(in.x)); })};
}

}  // namespace heddle::benches
