#include "kernels/permute/permute.h"

#include "autograd/ops.h"

namespace heddle::inline ops {

Variable permute(const Variable& x, std::span<const int> axes, Where where) {
    Tensor y = kernels::permute_forward(x.value(), axes);
    return record(y, {.op = "permute",
                      .where = where,
                      .inputs = {x},
                      .backward = [order = std::vector<int>(axes.begin(), axes.end())](Gradients& g) {
                          g.give(0, kernels::permute_backward(g.output(), order));
                      }});
}

}  // namespace heddle::inline ops
