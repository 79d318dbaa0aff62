// The CUDA side of activation.h: arguments are checked and results allocated by activation.cpp.
#pragma once

#include "kernels/activation/activation.h"
#include "kernels/device/declare.h"

namespace heddle::kernels {

HEDDLE_CUDA_FUNCTION(void relu_forward_cuda(const Tensor& x, const Tensor& y))
HEDDLE_CUDA_FUNCTION(void relu_backward_cuda(const Tensor& dy, const Tensor& y, const Tensor& dx))
HEDDLE_CUDA_FUNCTION(void gelu_forward_cuda(const Tensor& x, bool tanh_form, const Tensor& y))
HEDDLE_CUDA_FUNCTION(void gelu_backward_cuda(const Tensor& dy, const Tensor& x, bool tanh_form, const Tensor& dx))

}  // namespace heddle::kernels
