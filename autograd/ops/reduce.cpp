// Sums, means and maxima on the tape.
#include "kernels/reduce/reduce.h"

#include "autograd/ops.h"

namespace heddle::inline ops {

Variable sum(const Variable& x, int axis, bool keep, Where where) {
    Tensor y = kernels::sum_forward(x.value(), axis, keep);
    return record(y, {.op = "sum", .where = where, .inputs = {x}, .backward = [axis, shape = x.shape()](Gradients& g) {
                          g.give(0, kernels::sum_backward(g.output(), shape, axis));
                      }});
}

Variable mean(const Variable& x, int axis, bool keep, Where where) {
    Tensor y = kernels::mean_forward(x.value(), axis, keep);
    return record(y, {.op = "mean", .where = where, .inputs = {x}, .backward = [axis, shape = x.shape()](Gradients& g) {
                          g.give(0, kernels::mean_backward(g.output(), shape, axis));
                      }});
}

Variable max(const Variable& x, int axis, bool keep, Where where) {
    kernels::Maximum result = kernels::max_forward(x.value(), axis, keep);
    return record(result.y, {.op = "max",
                             .where = where,
                             .inputs = {x},
                             .saved = {result.indices},
                             .backward = [axis, shape = x.shape()](Gradients& g) {
                                 g.give(0, kernels::max_backward(g.output(), g.saved(0), shape, axis));
                             }});
}

Variable sum(const Variable& x, Where where) {
    Tensor y = kernels::sum_all_forward(x.value());
    return record(y, {.op = "sum", .where = where, .inputs = {x}, .backward = [shape = x.shape()](Gradients& g) {
                          g.give(0, kernels::sum_all_backward(g.output(), shape));
                      }});
}

}  // namespace heddle::inline ops
