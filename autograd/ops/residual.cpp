#include "kernels/residual/residual.h"

#include "autograd/bench_cases.h"
#include "autograd/ops.h"
#include "autograd/proofs.h"

namespace heddle::ops {

Variable residual(const Variable& x, const Variable& sublayer, const Dropout& dropout, Where where) {
    Tensor y = kernels::residual_forward(x.value(), sublayer.value(), dropout);
    return record(y, {.op = "residual", .where = where, .inputs = {x, sublayer}, .backward = [dropout](Gradients& g) {
                          if (g.needs(1)) g.give(1, kernels::residual_backward(g.output(), dropout));
                          g.give(0, g.take_output());
                      }});
}

}  // namespace heddle::ops

namespace heddle::proofs {

std::vector<GradientCase> residual() {
    const auto add = [](double probability, std::uint64_t key) -> GradientFunction {
        return [=](auto in) { return ops::residual(in[0], in[1], Dropout(probability, key)); };
    };
    return {
        {"residual", "without dropout", add(0, 0), {random_input({3, 5}, 3), random_input({3, 5}, 4)}},
        {"residual", "dropout 0.3", add(0.3, 13), {random_input({3, 11}, 5), random_input({3, 11}, 6)}},
        {"residual",
         "x added to its own dropout",
         [](auto in) { return ops::residual(in[0], in[0], Dropout(0.3, 14)); },
         {random_input({2, 9}, 7)}},
    };
}

}  // namespace heddle::proofs

namespace heddle::benches {

std::vector<OpCase> residual(const Setting& on, std::int64_t rows, std::int64_t cols) {
    return {row_case(on, rows, cols, "residual", ", dropout", 3, 2,
                     [](const RowInputs& in) { return ops::residual(fresh(in.x), fresh(in.y), dropout_of_training()); })};
}

}  // namespace heddle::benches
