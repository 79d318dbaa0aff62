// The CUDA side of mean_probability.h: arguments are checked and the result allocated by mean_probability.cpp. A row without a
// distribution stops the kernel.
#pragma once

#include "core/tensor.h"
#include "kernels/device/declare.h"

namespace heddle::kernels {

/// logits [M rows, V]: those of the models one after another.
HEDDLE_CUDA_FUNCTION(void mean_probability_cuda(const Tensor& logits, Tensor& result))

}  // namespace heddle::kernels
