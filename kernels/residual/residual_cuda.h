// The CUDA side of residual.h: arguments are checked and results allocated by residual.cpp.
#pragma once

#include "kernels/device/declare.h"
#include "kernels/residual/residual.h"

namespace heddle::kernels {

/// y = x + sublayer factor
HEDDLE_CUDA_FUNCTION(void residual_cuda(const Tensor& x, const Tensor& sublayer, const Dropout& dropout, const Tensor& y))

}  // namespace heddle::kernels
