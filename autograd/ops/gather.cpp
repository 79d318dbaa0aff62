#include "kernels/gather/gather.h"

#include <fmt/format.h>

#include "autograd/bench_cases.h"
#include "autograd/ops.h"
#include "autograd/proofs.h"

namespace heddle::ops {

Variable gather(const Variable& x, const Tensor& indices, Where where) {
    Tensor y = kernels::gather_forward(x.value(), indices);
    return record(y, {.op = "gather", .where = where, .inputs = {x}, .saved = {indices}, .backward = [](Gradients& g) {
                          Tensor dx = g.accumulate_into(0);
                          kernels::gather_backward(g.output(), g.saved(0), dx);
                      }});
}

}  // namespace heddle::ops

namespace heddle::proofs {

std::vector<GradientCase> gather() {
    const Tensor indices = Tensor::from(std::vector<std::int32_t>{1, 0, 1, 1}, {4});
    const GradientFunction function = [indices](auto in) { return ops::gather(in[0], beside(in[0], indices)); };
    return {{"gather", "repeated rows", function, {random_input({2, 3, 4}, 1)}}};
}

}  // namespace heddle::proofs

namespace heddle::benches {

std::vector<OpCase> gather(const Setting& on, std::int64_t rows, std::int64_t cols) {
    const auto hidden = static_cast<double>(rows * cols);
    return {{.op = "gather",
             .what = fmt::format("[{}, {}] rows", rows, cols),
             .prepare = [=]() -> Run {
                 const Variable x = leaf({rows, cols}, on);
                 const Tensor indices = random_tokens(rows, rows, on);
                 return [=] { return ops::gather(fresh(x), indices); };
             },
             .forward_bytes = on.bytes(2 * hidden),
             .backward_bytes = on.bytes(3 * hidden)}};
}

}  // namespace heddle::benches
