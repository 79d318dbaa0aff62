// The CUDA side of top_k.h: arguments are checked and results allocated by top_k.cpp. A row without a distribution stops the
// kernel.
#pragma once

#include "kernels/device/declare.h"
#include "kernels/top_k/top_k.h"

namespace heddle::kernels {

HEDDLE_CUDA_FUNCTION(void top_k_cuda(const Tensor& logits, std::int64_t k, TopK& result))

}  // namespace heddle::kernels
