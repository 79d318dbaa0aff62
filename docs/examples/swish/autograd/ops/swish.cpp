#include "kernels/swish/swish.h"

#include "autograd/ops.h"

namespace heddle::inline ops {

Variable swish(const Variable& x, const Variable& beta, Where where) {
    Tensor y = kernels::swish_forward(x.value(), beta.value());
    return record(
        y, {.op = "swish", .where = where, .inputs = {x, beta}, .saved = {x.value(), beta.value()}, .backward = [](Gradients& g) {
                const Tensor dbeta = g.needs(1) ? g.accumulate_into(1) : Tensor();
                g.give(0, kernels::swish_backward(g.output(), g.saved(0), g.saved(1), dbeta));
            }});
}

}  // namespace heddle::inline ops
