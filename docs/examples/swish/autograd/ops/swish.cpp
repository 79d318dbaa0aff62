#include "kernels/swish/swish.h"

#include "autograd/bench_cases.h"
#include "autograd/ops.h"
#include "autograd/proofs.h"

namespace heddle::ops {

Variable swish(const Variable& x, const Variable& beta, Where where) {
    Tensor y = kernels::swish_forward(x.value(), beta.value());
    return record(
        y, {.op = "swish", .where = where, .inputs = {x, beta}, .saved = {x.value(), beta.value()}, .backward = [](Gradients& g) {
                const Tensor dbeta = g.needs(1) ? g.accumulate_into(1) : Tensor();
                g.give(0, kernels::swish_backward(g.output(), g.saved(0), g.saved(1), dbeta));
            }});
}

}  // namespace heddle::ops

namespace heddle::proofs {

std::vector<GradientCase> swish() {
    const auto run = [](auto in) { return ops::swish(in[0], in[1]); };
    return {{"swish", "4 rows", run, {random_input({4, 3}, 1), random_input({3}, 2)}},
            {"swish", "one row, steep", run, {random_input({1, 5}, 3, 2), random_input({5}, 4, 5)}}};
}

}  // namespace heddle::proofs

namespace heddle::benches {

std::vector<OpCase> swish(const Setting& on, std::int64_t rows, std::int64_t cols) {
    return {row_case(on, rows, cols, "swish", "", 2, 3, [](const RowInputs& in) { return ops::swish(fresh(in.x), in.beta); })};
}

}  // namespace heddle::benches
