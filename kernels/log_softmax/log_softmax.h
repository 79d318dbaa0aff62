// The logarithm of the softmax over the last axis.
//
//     y_j  = x_j - m - log sum_i e^(x_i - m)          m = max x
// Backward, with p = e^y:
//     dx_j = dy_j - p_j sum_i dy_i
// Computed directly, because log(softmax(x)) is log 0 as soon as a probability underflows (in f32 at x_j - m = -104). An
// element of -inf gives -inf. A row of nothing but -inf has no distribution: it gives -inf everywhere and zero gradients.
//
// Saved for backward: y.
#pragma once

#include "core/tensor.h"
#include "kernels/device/declare.h"
#include "kernels/level.h"

namespace heddle::kernels {

/// x [..., cols] f32 or f64, on CUDA bf16 as well. Error when x is a scalar.
Tensor log_softmax_forward(const Tensor& x);
/// dx for dy and the forward's y, all of one shape.
Tensor log_softmax_backward(const Tensor& dy, const Tensor& y);

// ---- the vectorised CPU path (log_softmax_fast.cpp): rows [begin, end) of [rows, cols]

HEDDLE_DECLARE_LEVELS(void log_softmax_rows(const float* x, float* y, std::int64_t begin, std::int64_t end, std::int64_t cols);
                      void log_softmax_backward_rows(const float* dy, const float* y, float* dx, std::int64_t begin,
                                                     std::int64_t end, std::int64_t cols))

// ---- the CUDA side (log_softmax.cu): arguments are checked and results allocated by log_softmax.cpp

HEDDLE_CUDA_FUNCTION(void log_softmax_forward_cuda(const Tensor& x, Tensor& y))
HEDDLE_CUDA_FUNCTION(void log_softmax_backward_cuda(const Tensor& dy, const Tensor& y, Tensor& dx))

}  // namespace heddle::kernels
