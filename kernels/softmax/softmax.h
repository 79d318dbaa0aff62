// Softmax over the last axis, with an optional scale, additive mask and boolean mask.
//
// For a row x, its scores s = scale x + bias, and the set A of its places that may attend (mask true; all of them without a
// mask):
//     y_j  = e^(s_j - m) / sum_{i in A} e^(s_i - m)   for j in A, m = max_{i in A} s_i;     y_j = 0 elsewhere
// Backward:
//     ds_j = y_j (dy_j - sum_i dy_i y_i),    dx_j = scale ds_j,    dbias: the sum of ds over the rows that share the bias
// Subtracting m changes nothing in the quotient and keeps logits of 1e4 from overflowing. A row without a place that may attend,
// or with -inf everywhere it may, gives zeros and zero gradients. NaN and +inf give NaN.
//
// Saved for backward: y alone; where the mask is false y is 0, and so is dx.
#pragma once

#include "core/tensor.h"
#include "kernels/device/declare.h"
#include "kernels/level.h"

namespace heddle::kernels {

/// Masks that need no matrix. Positions that they exclude are ignored, even if NaN; a mask applies in addition.
struct SoftmaxReach {
    /// i32 [x.dim(0)], or undefined: in item b of x columns from lengths[b] on are ignored (padding of keys).
    Tensor lengths = {};
    bool causal = false;  ///< row q of the last two axes [queries, cols] ends with column q + cols - queries
};

/// How scores are computed from x.
struct SoftmaxScores {
    double scale = 1;
    /// Added to scale x: of x's dtype, and of the shape of x's last axes, one or more (shared by all leading ones); or undefined.
    /// A place with -inf gets the weight 0.
    Tensor bias = {};
};

/// x [..., cols] f32 or f64, on CUDA bf16 as well. `mask` u8 (nonzero = may attend) of x's shape, or of the shape of its last two
/// axes (shared by all leading ones), or undefined. Error when x is a scalar or the mask or the bias has another shape, and when
/// a reach is given and x has fewer than two axes.
Tensor softmax_forward(const Tensor& x, const Tensor& mask = {}, const SoftmaxReach& reach = {},
                       const SoftmaxScores& scores = {});
/// scale ds for dy and the forward's y, all of one shape: with the forward's scale dx, with 1 what the bias gets in each row.
Tensor softmax_backward(const Tensor& dy, const Tensor& y, double scale = 1);

// ---- the vectorised CPU path (softmax_fast.cpp)

/// A row of the forward pass: x, y [cols]; mask, bias [cols] or null; columns from `end` on are ignored. False, with y undefined,
/// when the sum of exponentials is not finite (NaN, +inf).
HEDDLE_DECLARE_LEVELS(bool softmax_row(const float* x, const std::uint8_t* mask, float scale, const float* bias, float* y,
                                       std::int64_t end, std::int64_t cols);
                      void softmax_backward_rows(const float* dy, const float* y, double scale, float* dx, std::int64_t begin,
                                                 std::int64_t end, std::int64_t cols))

// ---- the CUDA side (softmax.cu): arguments are checked and results allocated by softmax.cpp

HEDDLE_CUDA_FUNCTION(void softmax_forward_cuda(const Tensor& x, const Tensor& mask, const SoftmaxReach& reach,
                                               const SoftmaxScores& scores, Tensor& y))
HEDDLE_CUDA_FUNCTION(void softmax_backward_cuda(const Tensor& dy, const Tensor& y, double scale, Tensor& dx))

}  // namespace heddle::kernels
