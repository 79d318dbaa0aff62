#include "autograd/ops.h"
#include "autograd/proofs.h"

namespace heddle::ops {

Variable reshape(const Variable& x, const Shape& shape, Where where) {
    Tensor y = x.value().reshape(shape);
    return record(y, {.op = "reshape", .where = where, .inputs = {x}, .backward = [shape = x.shape()](Gradients& g) {
                          // In two steps, so that the gradient's storage has one owner and is passed on without a copy.
                          Tensor gradient = g.take_output();
                          gradient = gradient.reshape(shape);
                          g.give(0, std::move(gradient));
                      }});
}

}  // namespace heddle::ops

namespace heddle::proofs {

std::vector<GradientCase> reshape() {
    const GradientFunction function = [](auto in) { return ops::reshape(in[0], {4, 6}); };
    return {{"reshape", "three axes to two", function, {random_input({2, 3, 4}, 1)}}};
}

}  // namespace heddle::proofs
