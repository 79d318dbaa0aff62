// Swish with one learned slope per column (Ramachandran, Zoph and Le, "Searching for activation functions", 2017, section 4).
//
//   forward    y[i,j] = x[i,j] s          s = sigmoid(z),  z = beta[j] x[i,j]
//   backward   dx[i,j]  = dy[i,j] (s + z s (1 - s))
//              dbeta[j] = sum over i of dy[i,j] x[i,j]^2 s (1 - s)
#pragma once

#include "core/tensor.h"
#include "kernels/device/declare.h"

namespace heddle::kernels {

/// x [rows, cols], beta [cols], f32 or f64 (on CUDA bf16, too), both of one dtype. y has x's shape.
Tensor swish_forward(const Tensor& x, const Tensor& beta);
/// dx for dy and forward's arguments. Adds to dbeta [cols] (of x's dtype, or f32 for bf16) unless it is undefined.
Tensor swish_backward(const Tensor& dy, const Tensor& x, const Tensor& beta, Tensor dbeta);

// The CUDA side (swish.cu): arguments are checked and results allocated by swish.cpp.
HEDDLE_CUDA_FUNCTION(void swish_forward_cuda(const Tensor& x, const Tensor& beta, Tensor& y))
HEDDLE_CUDA_FUNCTION(void swish_backward_cuda(const Tensor& dy, const Tensor& x, const Tensor& beta, Tensor& dx, Tensor dbeta))

}  // namespace heddle::kernels
