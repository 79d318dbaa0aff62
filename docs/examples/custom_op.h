// What custom_op.cpp calls and custom_op.cu defines.
#pragma once

#include <heddle/core/tensor.h>
#include <heddle/kernels/device/declare.h>

namespace example {

using heddle::Tensor;

/// y = log(1 + e^x); x, y [n] on CUDA.
HEDDLE_CUDA_FUNCTION(void softplus_forward_cuda(const Tensor& x, Tensor& y))
/// dx = dy / (1 + e^-x); dy, x, dx [n] on CUDA.
HEDDLE_CUDA_FUNCTION(void softplus_backward_cuda(const Tensor& dy, const Tensor& x, Tensor& dx))

}  // namespace example
