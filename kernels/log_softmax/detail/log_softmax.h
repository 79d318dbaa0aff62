// The CUDA side of log_softmax.h: arguments are checked and results allocated by log_softmax.cpp.
#pragma once

#include "kernels/device/declare.h"
#include "kernels/log_softmax/log_softmax.h"

namespace heddle::kernels {

HEDDLE_CUDA_FUNCTION(void log_softmax_forward_cuda(const Tensor& x, Tensor& y))
HEDDLE_CUDA_FUNCTION(void log_softmax_backward_cuda(const Tensor& dy, const Tensor& y, Tensor& dx))

}  // namespace heddle::kernels
