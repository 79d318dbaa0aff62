#include "nn/layer_norm.h"

namespace heddle::nn {

LayerNorm::LayerNorm(Module& parent, std::string_view name, std::int64_t cols, double eps) : Module(parent, name), eps_(eps) {
    weight_ = add_parameter("weight", Tensor::full({cols}, 1, dtype()));
    bias_ = add_parameter("bias", Tensor::zeros({cols}, dtype()));
}

Variable LayerNorm::forward(const Variable& x, Where where) const {
    const InModule in_module(name());
    return ops::layer_norm(x, weight_, bias_, eps_, where);
}

ops::ResidualNorm LayerNorm::after_residual(const Variable& x, const Variable& sublayer, const Dropout& dropout,
                                            Where where) const {
    const InModule in_module(name());
    return ops::residual_layer_norm(x, sublayer, weight_, bias_, eps_, dropout, where);
}

}  // namespace heddle::nn
