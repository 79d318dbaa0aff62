// The CUDA side of target_log_probability.h: arguments are checked and the result allocated by target_log_probability.cpp. A
// target outside the vocabulary and a row without a distribution stop the kernel.
#pragma once

#include "core/tensor.h"
#include "kernels/device/declare.h"

namespace heddle::kernels {

HEDDLE_CUDA_FUNCTION(void target_log_probability_cuda(const Tensor& logits, const Tensor& targets, Tensor& result))

}  // namespace heddle::kernels
