// The residual connection with the paper's residual dropout.
//
//   forward   y[r, c] = x[r, c] + sublayer[r, c] factor[r, c]
//   backward  dx = dy,  dsublayer[r, c] = dy[r, c] factor[r, c]
//
// factor as in kernels/dropout. Source: Vaswani et al., "Attention is all you need" (2017), sections 3.1 and 5.4.
#pragma once

#include "core/random.h"
#include "core/tensor.h"
#include "kernels/device/declare.h"
#include "kernels/level.h"

namespace heddle::kernels {

/// x, sublayer f32 or f64 (on CUDA bf16, too) of one shape, seen as [rows, cols]. Error when the shapes or dtypes differ.
Tensor residual_forward(const Tensor& x, const Tensor& sublayer, const Dropout& dropout);
/// dsublayer for dy; dx is dy itself. The same handle when dropout is not active.
Tensor residual_backward(const Tensor& dy, const Dropout& dropout);

// ---- the vectorised CPU path (residual_fast.cpp)

/// y[r, c] = x[r, c] + sublayer[r, c] factor[r, c] for rows [begin, end); all [rows, cols]. Dropout must be active.
HEDDLE_DECLARE_LEVELS(void residual_rows(const float* x, const float* sublayer, float* y, std::int64_t begin, std::int64_t end,
                                         std::int64_t cols, const Dropout& dropout))

// ---- the CUDA side (residual.cu): arguments are checked and results allocated by residual.cpp

/// y = x + sublayer factor
HEDDLE_CUDA_FUNCTION(void residual_cuda(const Tensor& x, const Tensor& sublayer, const Dropout& dropout, Tensor& y))

}  // namespace heddle::kernels
