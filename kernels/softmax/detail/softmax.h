// The CUDA side of softmax.h: arguments are checked and results allocated by softmax.cpp.
#pragma once

#include "kernels/device/declare.h"
#include "kernels/softmax/softmax.h"

namespace heddle::kernels {

HEDDLE_CUDA_FUNCTION(void softmax_forward_cuda(const Tensor& x, const Tensor& mask, const SoftmaxReach& reach,
                                               const SoftmaxScores& scores, Tensor& y))
HEDDLE_CUDA_FUNCTION(void softmax_backward_cuda(const Tensor& dy, const Tensor& y, double scale, Tensor& dx))

}  // namespace heddle::kernels
