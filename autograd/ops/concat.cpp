#include "kernels/concat/concat.h"

#include "autograd/ops.h"

namespace heddle::inline ops {

Variable concat(std::span<const Variable> parts, int axis, Where where) {
    std::vector<Tensor> values;
    std::vector<std::int64_t> extents;
    for (const Variable& part : parts) values.push_back(part.value());
    Tensor y = kernels::concat_forward(values, axis);
    for (const Variable& part : parts) extents.push_back(part.dim(axis));
    return record(y, {.op = "concat",
                      .where = where,
                      .inputs = std::vector<Variable>(parts.begin(), parts.end()),
                      .backward = [axis, extents](Gradients& g) {
                          std::int64_t begin = 0;
                          for (std::size_t i = 0; i < extents.size(); ++i) {
                              const int input = static_cast<int>(i);
                              if (g.needs(input)) g.give(input, kernels::concat_backward(g.output(), axis, begin, extents[i]));
                              begin += extents[i];
                          }
                      }});
}

}  // namespace heddle::inline ops
