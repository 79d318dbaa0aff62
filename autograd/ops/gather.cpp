#include "kernels/gather/gather.h"

#include "autograd/ops.h"

namespace heddle::inline ops {

Variable gather(const Variable& x, const Tensor& indices, Where where) {
    Tensor y = kernels::gather_forward(x.value(), indices);
    return record(y, {.op = "gather", .where = where, .inputs = {x}, .saved = {indices}, .backward = [](Gradients& g) {
                          Tensor dx = g.accumulate_into(0);
                          kernels::gather_backward(g.output(), g.saved(0), dx);
                      }});
}

}  // namespace heddle::inline ops
