#include "kernels/residual/residual.h"

#include "autograd/ops.h"

namespace heddle::inline ops {

Variable residual(const Variable& x, const Variable& sublayer, const DropoutMask& dropout, Where where) {
    Tensor y = kernels::residual_forward(x.value(), sublayer.value(), dropout);
    return record(y, {.op = "residual", .where = where, .inputs = {x, sublayer}, .backward = [dropout](Gradients& g) {
                          if (g.needs(1)) g.give(1, kernels::residual_backward(g.output(), dropout));
                          g.give(0, g.take_output());
                      }});
}

}  // namespace heddle::inline ops
