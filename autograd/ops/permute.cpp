#include "kernels/permute/permute.h"

#include <fmt/format.h>

#include <array>

#include "autograd/bench_cases.h"
#include "autograd/ops.h"
#include "autograd/proofs.h"

namespace heddle::ops {

Variable permute(const Variable& x, std::span<const int> axes, Where where) {
    Tensor y = kernels::permute_forward(x.value(), axes);
    return record(y, {.op = "permute",
                      .where = where,
                      .inputs = {x},
                      .backward = [order = std::vector<int>(axes.begin(), axes.end())](Gradients& g) {
                          g.give(0, kernels::permute_backward(g.output(), order));
                      }});
}

}  // namespace heddle::ops

namespace heddle::proofs {

std::vector<GradientCase> permute() {
    const Tensor x = random_input({2, 3, 4}, 1);
    const auto turn = [](std::vector<int> axes) -> GradientFunction {
        return [axes](auto in) { return ops::permute(in[0], axes); };
    };
    return {
        {"permute", "three axes turned round", turn({2, 0, 1}), {x}},
        {"permute", "the last axis stays", turn({1, 0, -1}), {x}},
    };
}

}  // namespace heddle::proofs

namespace heddle::benches {

std::vector<OpCase> permute(const Setting& on, std::int64_t rows, std::int64_t cols) {
    return {row_case(on, rows, cols, "permute", fmt::format(" to [{}, {}]", cols, rows), 2, 2, [](const RowInputs& in) {
        return ops::permute(fresh(in.x), std::array{1, 0});
    })};
}

}  // namespace heddle::benches
