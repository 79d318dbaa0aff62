#include "kernels/slice/slice.h"

#include "autograd/bench_cases.h"
#include "autograd/ops.h"
#include "autograd/proofs.h"

namespace heddle::ops {

Variable slice(const Variable& x, int axis, std::int64_t begin, std::int64_t end, Where where) {
    Tensor y = kernels::slice_forward(x.value(), axis, begin, end);
    return record(y, {.op = "slice", .where = where, .inputs = {x}, .backward = [axis, begin](Gradients& g) {
                          Tensor dx = g.accumulate_into(0);
                          kernels::slice_backward(g.output(), axis, begin, dx);
                      }});
}

}  // namespace heddle::ops

namespace heddle::proofs {

std::vector<GradientCase> slice() {
    const Tensor x = random_input({2, 3, 4}, 1);
    const auto cut = [](int axis, std::int64_t begin, std::int64_t end) -> GradientFunction {
        return [=](auto in) { return ops::slice(in[0], axis, begin, end); };
    };
    return {
        {"slice", "the middle axis", cut(1, 1, 3), {x}},
        {"slice", "the last axis", cut(-1, 0, 2), {x}},
        {"slice",
         "two that overlap",
         [](auto in) { return ops::add(ops::slice(in[0], 0, 0, 1), ops::slice(in[0], 0, 0, 2)); },
         {x}},
    };
}

}  // namespace heddle::proofs

namespace heddle::benches {

std::vector<OpCase> slice(const Setting& on, std::int64_t rows, std::int64_t cols) {
    return {row_case(on, rows, cols, "slice", " half of the columns", 1, 1.5,
                     [=](const RowInputs& in) { return ops::slice(fresh(in.x), 1, 0, cols / 2); })};
}

}  // namespace heddle::benches
