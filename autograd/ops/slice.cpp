#include "kernels/slice/slice.h"

#include "autograd/ops.h"

namespace heddle::inline ops {

Variable slice(const Variable& x, int axis, std::int64_t begin, std::int64_t end, Where where) {
    const std::int64_t extent = x.dim(axis);
    if (begin < 0) begin += extent;
    if (end < 0) end += extent;
    Tensor y = kernels::slice_forward(x.value(), axis, begin, end);
    return record(y, {.op = "slice", .where = where, .inputs = {x}, .backward = [axis, begin](Gradients& g) {
                          Tensor dx = g.accumulate_into(0);
                          kernels::slice_backward(g.output(), axis, begin, dx);
                      }});
}

}  // namespace heddle::inline ops
