// The CUDA side of elementwise.h: arguments are checked and results allocated by elementwise.cpp.
#pragma once

#include "kernels/device/declare.h"
#include "kernels/elementwise/detail/broadcast.h"
#include "kernels/elementwise/elementwise.h"

namespace heddle::kernels {

/// The functions of two numbers a and b; of gradients a is dy, b the forward result.
enum class Binary { add, sub, mul, div, sqrt_backward, tanh_backward };
enum class Unary { neg, exp, log, sqrt, tanh, scale };

/// y = function(a, b); `walk` walks over y's shape with the operands a and b.
HEDDLE_CUDA_FUNCTION(void binary_cuda(Binary function, const Tensor& a, const Tensor& b, const BroadcastWalk& walk, Tensor& y))
/// y = condition ? a : b; `walk` has the operands condition, a and b.
HEDDLE_CUDA_FUNCTION(void where_cuda(const Tensor& condition, const Tensor& a, const Tensor& b, const BroadcastWalk& walk,
                                     Tensor& y))
/// y = function(x); `factor` is scale's.
HEDDLE_CUDA_FUNCTION(void unary_cuda(Unary function, const Tensor& x, double factor, Tensor& y))
/// target += x
HEDDLE_CUDA_FUNCTION(void accumulate_cuda(Tensor& target, const Tensor& x))

}  // namespace heddle::kernels
