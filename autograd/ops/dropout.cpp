#include "kernels/dropout/dropout.h"

#include "autograd/bench_cases.h"
#include "autograd/ops.h"
#include "autograd/proofs.h"

namespace heddle::ops {

Variable dropout(const Variable& x, const Dropout& dropout, Where where) {
    Tensor y = kernels::dropout_forward(x.value(), dropout);
    if (!dropout.active()) return x;
    return record(y, {.op = "dropout", .where = where, .inputs = {x}, .backward = [dropout](Gradients& g) {
                          g.give(0, kernels::dropout_backward(g.output(), dropout));
                      }});
}

}  // namespace heddle::ops

namespace heddle::proofs {

std::vector<GradientCase> dropout() {
    const auto drop = [](double probability, std::uint64_t key) -> GradientFunction {
        return [=](auto in) { return ops::dropout(in[0], Dropout(probability, key)); };
    };
    return {
        {"dropout", "probability 0.3", drop(0.3, 11), {random_input({3, 11}, 1)}},
        {"dropout", "probability 0.9, three axes", drop(0.9, 12), {random_input({2, 3, 9}, 2)}},
    };
}

}  // namespace heddle::proofs

namespace heddle::benches {

std::vector<OpCase> dropout(const Setting& on, std::int64_t rows, std::int64_t cols) {
    const auto run = [](const RowInputs& in) { return ops::dropout(fresh(in.x), dropout_of_training()); };
    return {row_case(on, rows, cols, "dropout", "", 2, 2, run)};
}

}  // namespace heddle::benches
