#include "kernels/softmax/softmax.h"

#include "autograd/ops.h"
#include "kernels/reduce/reduce.h"

namespace heddle::inline ops {

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

Variable softmax(const Variable& x, int axis, Where where) {
    if (counted_axis("softmax", x.shape(), axis) == x.rank() - 1) return softmax(x, {}, {}, {}, where);
    return transpose(softmax(transpose(x, axis, -1, where), {}, {}, {}, where), axis, -1, where);
}

}  // namespace heddle::inline ops
