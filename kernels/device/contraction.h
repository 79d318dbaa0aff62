// Products and sums whose rounding is written out.
//
// A compiler may turn a * b + c into one operation that rounds once; nvcc does so wherever it can, and where a sum has two
// products it chooses one. So kernels that promise each other's bits, or that make the same number twice, say which operation
// they mean.
#pragma once

#include <cmath>

#include "kernels/device/cuda.h"

namespace heddle::device {

/// a b + c, rounded once.
__device__ __forceinline__ float multiply_add(float a, float b, float c) { return ::fmaf(a, b, c); }
__device__ __forceinline__ double multiply_add(double a, double b, double c) { return ::fma(a, b, c); }

/// a b, rounded, whatever is added to it.
#if defined(__CUDACC__)
__device__ __forceinline__ float product(float a, float b) { return __fmul_rn(a, b); }
__device__ __forceinline__ double product(double a, double b) { return __dmul_rn(a, b); }
#else
[[gnu::noinline]] inline float product(float a, float b) { return a * b; }  // a call hides it from what is added
[[gnu::noinline]] inline double product(double a, double b) { return a * b; }
#endif

}  // namespace heddle::device
