// Layer normalisation and RMS normalisation.
#pragma once

#include "autograd/ops.h"
#include "core/enum_words.h"
#include "nn/module.h"

namespace heddle::nn {

/// The two normalisations of a row: layer norm subtracts its mean and divides by its deviation, RMS norm (Zhang and Sennrich
/// 2019) divides by the root of its mean square.
enum class NormKind : std::uint8_t { layer, rms };
constexpr auto enum_words(NormKind) { return words_for<NormKind>({{NormKind::layer, "layer"}, {NormKind::rms, "rms"}}); }

/// ops::layer_norm with weight (gamma, ones at first) and bias (beta, zeros at first) [cols], or ops::rms_norm with the weight
/// alone.
class Norm : public Module {
  public:
    Norm(Module& parent, std::string_view name, std::int64_t cols, NormKind norm_kind, double eps);
    /// A root.
    Norm(std::int64_t cols, NormKind norm_kind, double eps);

    std::string_view kind() const override { return norm_kind_ == NormKind::layer ? "LayerNorm" : "RMSNorm"; }
    Variable forward(const Variable& x, Where where = Where::current()) const;
    Variable operator()(const Variable& x, Where where = Where::current()) const { return forward(x, where); }
    /// x + dropout(sublayer) and its normalisation, computed in one pass.
    ops::ResidualNorm after_residual(const Variable& x, const Variable& sublayer, const DropoutMask& dropout,
                                     Where where = Where::current()) const;
    const Variable& weight() const { return weight_; }
    /// Undefined with RMS norm.
    const Variable& bias() const { return bias_; }
    double eps() const { return eps_; }

  private:
    void make(std::int64_t cols);

    NormKind norm_kind_;
    double eps_;
    Variable weight_;
    Variable bias_;
};

/// Norm of NormKind::layer for rows of `cols`. Its eps is torch.nn.LayerNorm's, 1e-5.
class LayerNorm : public Norm {
  public:
    /// A child of `parent`.
    LayerNorm(Module& parent, std::string_view name, std::int64_t cols, double eps = 1e-5)
        : Norm(parent, name, cols, NormKind::layer, eps) {}
    /// A root.
    explicit LayerNorm(std::int64_t cols, double eps = 1e-5) : Norm(cols, NormKind::layer, eps) {}
};

/// Norm of NormKind::rms for rows of `cols`. Its eps is that of LLaMA's models, 1e-6, and not LayerNorm's.
class RMSNorm : public Norm {
  public:
    /// A child of `parent`.
    RMSNorm(Module& parent, std::string_view name, std::int64_t cols, double eps = 1e-6)
        : Norm(parent, name, cols, NormKind::rms, eps) {}
    /// A root.
    explicit RMSNorm(std::int64_t cols, double eps = 1e-6) : Norm(cols, NormKind::rms, eps) {}
};

}  // namespace heddle::nn
