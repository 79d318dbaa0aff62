// Dropout and the residual connection on the tape.
#include "kernels/dropout/dropout.h"

#include "autograd/ops.h"
#include "autograd/proofs.h"
#include "kernels/residual/residual.h"

namespace heddle::ops {

Variable dropout(const Variable& x, const Dropout& dropout, Where where) {
    Tensor y = kernels::dropout_forward(x.value(), dropout);
    if (!dropout.active()) return x;
    return record(y, {.op = "dropout", .where = where, .inputs = {x}, .backward = [dropout](Gradients& g) {
                          g.give(0, kernels::dropout_backward(g.output(), dropout));
                      }});
}

Variable residual(const Variable& x, const Variable& sublayer, const Dropout& dropout, Where where) {
    Tensor y = kernels::residual_forward(x.value(), sublayer.value(), dropout);
    return record(y, {.op = "residual", .where = where, .inputs = {x, sublayer}, .backward = [dropout](Gradients& g) {
                          if (g.needs(1)) g.give(1, kernels::residual_backward(g.output(), dropout));
                          g.give(0, g.take_output());
                      }});
}

}  // namespace heddle::ops

namespace heddle::proofs {

std::vector<GradientCase> dropout() {
    const auto drop = [](double probability, std::uint64_t key) -> GradientFunction {
        return [=](auto in) { return ops::dropout(in[0], Dropout(probability, key)); };
    };
    const auto add = [](double probability, std::uint64_t key) -> GradientFunction {
        return [=](auto in) { return ops::residual(in[0], in[1], Dropout(probability, key)); };
    };
    return {
        {"dropout", "probability 0.3", drop(0.3, 11), {random_input({3, 11}, 1)}},
        {"dropout", "probability 0.9, three axes", drop(0.9, 12), {random_input({2, 3, 9}, 2)}},
        {"residual", "without dropout", add(0, 0), {random_input({3, 5}, 3), random_input({3, 5}, 4)}},
        {"residual", "dropout 0.3", add(0.3, 13), {random_input({3, 11}, 5), random_input({3, 11}, 6)}},
        {"residual",
         "x added to its own dropout",
         [](auto in) { return ops::residual(in[0], in[0], Dropout(0.3, 14)); },
         {random_input({2, 9}, 7)}},
    };
}

}  // namespace heddle::proofs
