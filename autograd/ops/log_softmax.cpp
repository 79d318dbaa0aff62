#include "kernels/log_softmax/log_softmax.h"

#include "autograd/ops.h"

namespace heddle::inline ops {

Variable log_softmax(const Variable& x, Where where) {
    Tensor y = kernels::log_softmax_forward(x.value());
    return record(y, {.op = "log_softmax", .where = where, .inputs = {x}, .saved = {y}, .backward = [](Gradients& g) {
                          g.give(0, kernels::log_softmax_backward(g.output(), g.saved(0)));
                      }});
}

}  // namespace heddle::inline ops
