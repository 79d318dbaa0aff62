// ReLU and GELU on the tape.
#include "kernels/activation/activation.h"

#include "autograd/bench_cases.h"
#include "autograd/ops.h"
#include "autograd/proofs.h"

namespace heddle::ops {

Variable relu(const Variable& x, Where where) {
    Tensor y = kernels::relu_forward(x.value());
    return record(y, {.op = "relu", .where = where, .inputs = {x}, .saved = {y}, .backward = [](Gradients& g) {
                          g.give(0, kernels::relu_backward(g.output(), g.saved(0)));
                      }});
}

Variable gelu(const Variable& x, bool tanh_form, Where where) {
    Tensor y = kernels::gelu_forward(x.value(), tanh_form);
    return record(y, {.op = "gelu", .where = where, .inputs = {x}, .saved = {x.value()}, .backward = [tanh_form](Gradients& g) {
                          g.give(0, kernels::gelu_backward(g.output(), g.saved(0), tanh_form));
                      }});
}

}  // namespace heddle::ops

namespace heddle::proofs {

std::vector<GradientCase> activation() {
    return {
        {"relu",
         "inputs away from the kink",
         [](auto in) { return ops::relu(in[0]); },
         {away_from_zero(random_input({4, 7}, 1), 0.2)}},
        {"gelu", "with the error function", [](auto in) { return ops::gelu(in[0]); }, {random_input({4, 7}, 2, 2)}},
        {"gelu", "tanh form", [](auto in) { return ops::gelu(in[0], true); }, {random_input({4, 7}, 3, 2)}},
    };
}

}  // namespace heddle::proofs

namespace heddle::benches {

std::vector<OpCase> activation(const Setting& on, std::int64_t rows, std::int64_t cols) {
    return {row_case(on, rows, cols, "relu", "", 2, 3, [](const RowInputs& in) { return ops::relu(fresh(in.x)); }),
            row_case(on, rows, cols, "gelu", "", 2, 3, [](const RowInputs& in) { return ops::gelu(fresh(in.x)); }),
            row_case(on, rows, cols, "gelu", ", tanh", 2, 3, [](const RowInputs& in) { return ops::gelu(fresh(in.x), true); })};
}

}  // namespace heddle::benches
