// What stands below activation.cpp: the vectorised CPU path and the CUDA side.
#pragma once

#include "kernels/activation/activation.h"
#include "kernels/device/declare.h"
#include "kernels/level.h"

namespace heddle::kernels {

// ---- the vectorised CPU path (activation_fast.cpp)

/// y[i] = gelu(x[i]) for i < n.
HEDDLE_DECLARE_LEVELS(void gelu_values(const float* x, float* y, std::int64_t n, bool tanh_form))
/// dx[i] = dy[i] gelu'(x[i]) for i < n.
HEDDLE_DECLARE_LEVELS(void gelu_gradients(const float* dy, const float* x, float* dx, std::int64_t n, bool tanh_form))

// ---- the CUDA side: arguments are checked and results allocated by activation.cpp

HEDDLE_CUDA_FUNCTION(void relu_forward_cuda(const Tensor& x, Tensor& y))
HEDDLE_CUDA_FUNCTION(void relu_backward_cuda(const Tensor& dy, const Tensor& y, Tensor& dx))
HEDDLE_CUDA_FUNCTION(void gelu_forward_cuda(const Tensor& x, bool tanh_form, Tensor& y))
HEDDLE_CUDA_FUNCTION(void gelu_backward_cuda(const Tensor& dy, const Tensor& x, bool tanh_form, Tensor& dx))

}  // namespace heddle::kernels
