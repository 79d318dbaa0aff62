#include "kernels/dropout/dropout.h"

#include "autograd/ops.h"

namespace heddle::inline ops {

Variable dropout(const Variable& x, const DropoutMask& dropout, Where where) {
    Tensor y = kernels::dropout_forward(x.value(), dropout);
    if (!dropout.active()) return x;
    return record(y, {.op = "dropout", .where = where, .inputs = {x}, .backward = [dropout](Gradients& g) {
                          g.give(0, kernels::dropout_backward(g.output(), dropout));
                      }});
}

}  // namespace heddle::inline ops
