// The CUDA side of reduce.h: arguments are checked and results allocated by reduce.cpp. Shapes are seen as [outer, n, inner] with
// the reduced axis in the middle, results as [outer, inner].
#pragma once

#include "kernels/device/declare.h"
#include "kernels/reduce/reduce.h"

namespace heddle::kernels {

/// An axis in the middle of a shape.
struct MiddleAxis {
    std::int64_t outer = 1, n = 1, inner = 1;
};

/// y = factor times the sum of x along the axis.
HEDDLE_CUDA_FUNCTION(void sum_cuda(const Tensor& x, const MiddleAxis& axis, double factor, Tensor& y))
/// y = the maxima, indices i32 = their first places. The axis is not empty.
HEDDLE_CUDA_FUNCTION(void max_cuda(const Tensor& x, const MiddleAxis& axis, Tensor& y, Tensor& indices))
/// dx[o, k, j] = factor dy[o, j], and with indices (i32, or undefined) only where k is indices[o, j], else 0.
HEDDLE_CUDA_FUNCTION(void spread_cuda(const Tensor& dy, const Tensor& indices, double factor, const MiddleAxis& axis, Tensor& dx))

}  // namespace heddle::kernels
