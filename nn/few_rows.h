// A step of decoding with few rows on CUDA in bf16: the stream between sublayers, whose norms and residual sums are part of the
// products around them (kernels/few_rows).
#pragma once

#include <optional>

#include "kernels/few_rows/few_rows.h"
#include "nn/layer_norm.h"
#include "nn/linear.h"

namespace heddle::nn {

/// As Stream in layers.h, but with the norm still to be taken: the product that reads it does.
class FewRows {
  public:
    /// Whether rows like those of x are taken (kernels::takes_few_rows).
    static bool takes(const Tensor& x) { return kernels::takes_few_rows(x, x); }

    /// The stream x [rows, d_model], of which the next product reads norm(x); null: x itself. `pre`: residual connections pass
    /// the norms by (NormPlace::pre).
    FewRows(Tensor x, const LayerNorm* norm, bool pre) : x_(std::move(x)), norm_(norm), pre_(pre) {}

    /// norm(x) W^T + b, with the activation; its last columns go to `tail` where that is defined.
    Tensor read(const Linear& linear, std::optional<ops::Activation> activation = {}, const Tensor& tail = {});
    /// The stream becomes the residual of what was read last + h W^T + b, and its norm `next`.
    void add(const Tensor& h, const Linear& linear, const LayerNorm* next);
    /// norm(x) W^T + b in f32.
    Tensor logits(const Tensor& weight, const Tensor& bias) const;

  private:
    std::optional<kernels::RowNorm> row_norm() const;

    Tensor x_;
    const LayerNorm* norm_;
    bool pre_;
    Tensor residual_;
};

}  // namespace heddle::nn
