#include "kernels/concat/concat.h"

#include <array>

#include "autograd/bench_cases.h"
#include "autograd/ops.h"
#include "autograd/proofs.h"

namespace heddle::ops {

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

}  // namespace heddle::ops

namespace heddle::proofs {

std::vector<GradientCase> concat() {
    const Tensor x = random_input({2, 3, 4}, 1), y = random_input({2, 2, 4}, 2), z = random_input({2, 1, 4}, 3);
    const auto join = [](int axis) -> GradientFunction { return [axis](auto in) { return ops::concat(in, axis); }; };
    return {
        {"concat", "the middle axis, three parts", join(1), {x, y, z}},
        {"concat", "the first axis", join(0), {x, x}},
    };
}

}  // namespace heddle::proofs

namespace heddle::benches {

std::vector<OpCase> concat(const Setting& on, std::int64_t rows, std::int64_t cols) {
    return {row_case(on, rows, cols, "concat", " twice", 4, 4, [](const RowInputs& in) {
        return ops::concat(std::array{fresh(in.x), fresh(in.y)}, 1);
    })};
}

}  // namespace heddle::benches
