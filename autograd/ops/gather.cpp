#include "kernels/gather/gather.h"

#include "autograd/ops.h"
#include "autograd/proofs.h"

namespace heddle::ops {

Variable gather(const Variable& x, const Tensor& indices, Where where) {
    Tensor y = kernels::gather_forward(x.value(), indices);
    return record(y, {.op = "gather", .where = where, .inputs = {x}, .saved = {indices}, .backward = [](Gradients& g) {
                          Tensor dx = g.accumulate_into(0);
                          kernels::gather_backward(g.output(), g.saved(0), dx);
                      }});
}

}  // namespace heddle::ops

namespace heddle::proofs {

std::vector<GradientCase> gather() {
    const Tensor indices = Tensor::from(std::vector<std::int32_t>{1, 0, 1, 1}, {4});
    const GradientFunction function = [indices](auto in) { return ops::gather(in[0], beside(in[0], indices)); };
    return {{"gather", "repeated rows", function, {random_input({2, 3, 4}, 1)}}};
}

}  // namespace heddle::proofs
