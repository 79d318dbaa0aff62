#include "kernels/log_softmax/log_softmax.h"

#include "autograd/ops.h"

namespace heddle::inline ops {

Variable log_softmax(const Variable& x, Where where) {
    Tensor y = kernels::log_softmax_forward(x.value());
    return record(y, {.op = "log_softmax", .where = where, .inputs = {x}, .saved = {y}, .backward = [](Gradients& g) {
                          g.give(0, kernels::log_softmax_backward(g.output(), g.saved(0)));
                      }});
}

Variable log_softmax(const Variable& x, int axis, Where where) {
    if (counted_axis("log_softmax", x.shape(), axis) == x.rank() - 1) return log_softmax(x, where);
    return transpose(log_softmax(transpose(x, axis, -1, where), where), axis, -1, where);
}

}  // namespace heddle::inline ops
