#include "nn/layer_norm.h"

namespace heddle::nn {

Norm::Norm(Module& parent, std::string_view name, std::int64_t cols, NormKind norm_kind, double eps)
    : Module(parent, name), norm_kind_(norm_kind), eps_(eps) {
    make(cols);
}

Norm::Norm(std::int64_t cols, NormKind norm_kind, double eps) : norm_kind_(norm_kind), eps_(eps) { make(cols); }

void Norm::make(std::int64_t cols) {
    weight_ = add_parameter("weight", Tensor::full({cols}, 1, dtype()));
    if (norm_kind_ == NormKind::layer) bias_ = add_parameter("bias", Tensor::zeros({cols}, dtype()));
}

Variable Norm::forward(const Variable& x, Where where) const {
    const InModule in_module(name());
    if (norm_kind_ == NormKind::rms) return ops::rms_norm(x, weight_, eps_, where);
    return ops::layer_norm(x, weight_, bias_, eps_, where);
}

ops::ResidualNorm Norm::after_residual(const Variable& x, const Variable& sublayer, const DropoutMask& dropout,
                                       Where where) const {
    const InModule in_module(name());
    if (norm_kind_ == NormKind::rms) return ops::residual_rms_norm(x, sublayer, weight_, eps_, dropout, where);
    return ops::residual_layer_norm(x, sublayer, weight_, bias_, eps_, dropout, where);
}

}  // namespace heddle::nn
