// Decoding steps with few rows on CUDA in bf16: a stream between sublayers whose norms and residual sums are fused into the
// products (kernels/few_rows).
#pragma once

#include <optional>

#include "kernels/few_rows/few_rows.h"
#include "nn/decoder_cache.h"
#include "nn/layer_norm.h"
#include "nn/linear.h"

namespace heddle::nn {

/// Like Stream in layers.h, but the norm is applied by the product that reads it.
class FewRows {
  public:
    /// True if the kernels support rows like those of x (kernels::takes_few_rows).
    static bool takes(const Tensor& x) { return kernels::takes_few_rows(x, x); }

    /// The stream x [rows, d_model]; the next product reads norm(x), or x if `norm` is null. `pre`: residual connections bypass
    /// the norms (NormPlace::pre).
    FewRows(Tensor x, const Norm* norm, bool pre) : x_(std::move(x)), norm_(norm), pre_(pre) {}

    /// norm(x) W^T + b with the activation; its last columns are written to `tail` if that is given.
    Tensor read(const Linear& linear, std::optional<ops::Activation> activation = {}, const DecoderCache::Place& tail = {});
    /// Sets the stream to (the residual of what was last read) + h W^T + b, and its norm to `next`.
    void add(const Tensor& h, const Linear& linear, const Norm* next);
    /// norm(x) W^T + b in f32.
    Tensor logits(const Tensor& weight, const Tensor& bias) const;

  private:
    std::optional<kernels::RowNorm> row_norm() const;

    Tensor x_;
    const Norm* norm_;
    bool pre_;
    Tensor residual_;
};

}  // namespace heddle::nn
