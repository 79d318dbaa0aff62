// Layer normalisation.
#pragma once

#include "autograd/ops.h"
#include "nn/module.h"

namespace heddle::nn {

/// ops::layer_norm with weight (gamma, ones at first) and bias (beta, zeros at first) [cols].
class LayerNorm : public Module {
  public:
    LayerNorm(Module& parent, std::string_view name, std::int64_t cols, double eps = 1e-5);

    std::string_view kind() const override { return "LayerNorm"; }
    Variable forward(const Variable& x, Where where = Where::current()) const;
    Variable operator()(const Variable& x, Where where = Where::current()) const { return forward(x, where); }
    /// x + dropout(sublayer) and its normalisation, computed in one pass.
    ops::ResidualNorm after_residual(const Variable& x, const Variable& sublayer, const Dropout& dropout,
                                     Where where = Where::current()) const;
    const Variable& weight() const { return weight_; }
    const Variable& bias() const { return bias_; }
    double eps() const { return eps_; }

  private:
    double eps_;
    Variable weight_;
    Variable bias_;
};

}  // namespace heddle::nn
