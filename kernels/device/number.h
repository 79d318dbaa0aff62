// Element types inside kernels: storage types and compute types.
#pragma once

#include <type_traits>

#include "core/dtype.h"
#include "kernels/device/cuda.h"
#include "kernels/device/ptx.h"

#if defined(__CUDACC__)
#include <cuda_bf16.h>
#endif

namespace heddle::device {

/// The type for sums, statistics and products of a stored type: f64 for f64, f32 for f32 and bf16.
template <class T>
using Accumulator = std::conditional_t<std::is_same_v<T, double>, double, float>;

/// A stored number, to compute with. Exact.
__device__ __forceinline__ float load(bf16 x) { return __uint_as_float(static_cast<unsigned>(x.bits) << 16); }
__device__ __forceinline__ float load(float x) { return x; }
__device__ __forceinline__ double load(double x) { return x; }

/// A computed number, to store: bf16 rounds to nearest even, and NaN stays NaN.
template <class T>
__device__ __forceinline__ T store(Accumulator<T> x) {
    if constexpr (std::is_same_v<T, bf16>) {
#if defined(__CUDACC__)
        bf16 result;
        result.bits = __bfloat16_as_ushort(__float2bfloat16_rn(x));
        return result;
#else
        return bf16(x);
#endif
    } else {
        return x;
    }
}

/// Two bf16 in one register, `low` in the lower half: how tensor cores and 4-byte accesses take them.
__device__ __forceinline__ unsigned pack(bf16 low, bf16 high) { return low.bits | static_cast<unsigned>(high.bits) << 16; }
__device__ __forceinline__ unsigned pack(float low, float high) { return pack(store<bf16>(low), store<bf16>(high)); }

/// e^x. The f32 form is CUDA's fast one: e^x = 2^(x log2 e) by the special function unit, relative error about 2^-22 + |x| 2^-23.
__device__ __forceinline__ float exponential(float x) { return __expf(x); }
__device__ __forceinline__ double exponential(double x) { return ::exp(x); }
/// 2^x. The f32 form is one instruction of the special function unit: relative error 2^-22, results below 2^-126 may be 0.
#if defined(__CUDACC__)
__device__ __forceinline__ float power_of_two(float x) { return ptx::power_of_two(x); }
#else
inline float power_of_two(float x) { return ::exp2f(x); }
#endif
__device__ __forceinline__ double power_of_two(double x) { return ::exp2(x); }
/// ln x, in full precision.
__device__ __forceinline__ float logarithm(float x) { return ::logf(x); }
__device__ __forceinline__ double logarithm(double x) { return ::log(x); }
/// 1 / sqrt(x). The f32 form has a relative error of 2^-22.
__device__ __forceinline__ float inverse_root(float x) { return ::rsqrtf(x); }
__device__ __forceinline__ double inverse_root(double x) { return 1 / ::sqrt(x); }
/// The larger one; NaN when either is NaN, as on the CPU (fmaxf would drop it).
template <class T>
__device__ __forceinline__ T larger(T a, T b) {
    return a > b || a != a ? a : b;
}
/// -infinity.
template <class T>
__device__ __forceinline__ T lowest() {
    if constexpr (std::is_same_v<T, double>)
        return -__longlong_as_double(0x7ff0000000000000LL);
    else
        return -__uint_as_float(0x7f800000u);
}

}  // namespace heddle::device
