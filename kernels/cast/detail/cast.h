// The CUDA side of cast.h: arguments are checked and results allocated by cast.cpp.
#pragma once

#include "kernels/cast/cast.h"
#include "kernels/device/declare.h"

namespace heddle::kernels {

/// y = x converted to y's dtype, which is another one.
HEDDLE_CUDA_FUNCTION(void cast_cuda(const Tensor& x, Tensor& y))
HEDDLE_CUDA_FUNCTION(void fill_cuda(Tensor& y, double value))

}  // namespace heddle::kernels
