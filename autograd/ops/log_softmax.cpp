#include "kernels/log_softmax/log_softmax.h"

#include "autograd/bench_cases.h"
#include "autograd/ops.h"
#include "autograd/proofs.h"

namespace heddle::ops {

Variable log_softmax(const Variable& x, Where where) {
    Tensor y = kernels::log_softmax_forward(x.value());
    return record(y, {.op = "log_softmax", .where = where, .inputs = {x}, .saved = {y}, .backward = [](Gradients& g) {
                          g.give(0, kernels::log_softmax_backward(g.output(), g.saved(0)));
                      }});
}

}  // namespace heddle::ops

namespace heddle::proofs {

std::vector<GradientCase> log_softmax() {
    const GradientFunction function = [](auto in) { return ops::log_softmax(in[0]); };
    return {
        {"log_softmax", "plain", function, {random_input({3, 7}, 15, 2)}},
        {"log_softmax", "far apart", function, {random_input({2, 5}, 16, 30)}},
    };
}

}  // namespace heddle::proofs

namespace heddle::benches {

std::vector<OpCase> log_softmax(const Setting& on, std::int64_t rows, std::int64_t cols) {
    return {row_case(on, rows, cols, "log_softmax", "", 2, 3, [](const RowInputs& in) { return ops::log_softmax(fresh(in.x)); })};
}

}  // namespace heddle::benches
