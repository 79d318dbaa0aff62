// The CUDA side of concat.h: arguments are checked and the result is allocated by concat.cpp.
#pragma once

#include <span>

#include "kernels/concat/concat.h"
#include "kernels/device/declare.h"

namespace heddle::kernels {

/// y = the parts one after another along `axis`, 0 or more; elements of any dtype.
HEDDLE_CUDA_FUNCTION(void concat_forward_cuda(std::span<const Tensor> parts, int axis, Tensor& y))

}  // namespace heddle::kernels
