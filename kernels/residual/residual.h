// The residual connection with the paper's residual dropout.
//
//   forward   y[r, c] = x[r, c] + sublayer[r, c] factor[r, c]
//   backward  dx = dy,  dsublayer[r, c] = dy[r, c] factor[r, c]
//
// factor as in kernels/dropout. Source: Vaswani et al., "Attention is all you need" (2017), sections 3.1 and 5.4.
#pragma once

#include "core/random.h"
#include "core/tensor.h"

namespace heddle::kernels {

/// x, sublayer f32 or f64 (on CUDA bf16, too) of one shape, seen as [rows, cols]. Error when the shapes or dtypes differ.
Tensor residual_forward(const Tensor& x, const Tensor& sublayer, const Dropout& dropout);
/// dsublayer for dy; dx is dy itself. The same handle when dropout is not active.
Tensor residual_backward(const Tensor& dy, const Dropout& dropout);

}  // namespace heddle::kernels
