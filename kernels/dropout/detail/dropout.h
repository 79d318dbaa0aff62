// The CUDA side of dropout.h: arguments are checked and results allocated by dropout.cpp.
#pragma once

#include "kernels/device/declare.h"
#include "kernels/dropout/dropout.h"

namespace heddle::kernels {

/// y = x factor; dropout is active.
HEDDLE_CUDA_FUNCTION(void dropout_cuda(const Tensor& x, const Dropout& dropout, Tensor& y))

}  // namespace heddle::kernels
