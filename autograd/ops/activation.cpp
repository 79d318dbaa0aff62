// ReLU, GELU and SiLU on the tape.
#include "kernels/activation/activation.h"

#include "autograd/ops.h"

namespace heddle::inline ops {

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

Variable silu(const Variable& x, Where where) {
    Tensor y = kernels::silu_forward(x.value());
    return record(y, {.op = "silu", .where = where, .inputs = {x}, .saved = {x.value()}, .backward = [](Gradients& g) {
                          g.give(0, kernels::silu_backward(g.output(), g.saved(0)));
                      }});
}

}  // namespace heddle::inline ops
