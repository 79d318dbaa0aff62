// The CUDA side of permute.h: arguments are checked and results allocated by permute.cpp.
#pragma once

#include <vector>

#include "kernels/device/declare.h"
#include "kernels/permute/permute.h"

namespace heddle::kernels {

/// y = x with axis order[k] of x as its axis k; order counts from the front and names each axis once.
HEDDLE_CUDA_FUNCTION(void permute_cuda(const Tensor& x, const std::vector<int>& order, Tensor& y))

}  // namespace heddle::kernels
