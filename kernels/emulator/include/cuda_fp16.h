// CUDA's half precision (IEEE binary16): __half, __half2 and their functions, for kernels and host code.
#pragma once

#include "kernels/emulator/cuda/intrinsics.h"

namespace heddle::emulator::cuda {

/// How the bits of a __half are read and rounded. Sums, products and quotients of two halves, rounded to f32 and then to f16, are
/// rounded right: 24 bits are at least twice 11 and 2 more (Figueroa 1995).
struct HalfBits {
    static constexpr unsigned short infinity = 0x7c00;
    static constexpr float value(unsigned short bits) { return half_to_float(bits); }
    static constexpr unsigned short round(float x) { return float_to_half(x); }
    static constexpr unsigned short round(double x, Rounding rounding) {
        return static_cast<unsigned short>(encode<5, 10>(x, rounding));
    }
    template <class T>
    static constexpr unsigned short round_integer(T x, Rounding rounding) {
        return static_cast<unsigned short>(encode_integer<5, 10>(x, rounding));
    }
    static unsigned short add(float a, float b) { return float_to_half(a + b); }
    static unsigned short subtract(float a, float b) { return float_to_half(a - b); }
    static unsigned short multiply(float a, float b) { return float_to_half(a * b); }
    static unsigned short divide(float a, float b) { return float_to_half(a / b); }
    static unsigned short fused(float a, float b, float c) { return round(fused_to_odd(a, b, c), Rounding::nearest); }
};

}  // namespace heddle::emulator::cuda

#define HEDDLE_NAME half
#define HEDDLE_ONE __half
#define HEDDLE_PAIR __half2
#define HEDDLE_BITS heddle::emulator::cuda::HalfBits
#define HEDDLE_NUMBER heddle::emulator::Number::f16
#define HEDDLE_NUMBER2 heddle::emulator::Number::f16_pair
#include "kernels/emulator/cuda/half_precision.h"

using half = __half;
using half2 = __half2;
using __nv_half = __half;
using __nv_half2 = __half2;
using nv_half = __half;
using nv_half2 = __half2;
using __nv_half_raw = __half_raw;
using __nv_half2_raw = __half2_raw;

#define CUDART_INF_FP16 __ushort_as_half(static_cast<unsigned short>(0x7C00))
#define CUDART_NAN_FP16 __ushort_as_half(static_cast<unsigned short>(0x7FFF))
#define CUDART_MIN_DENORM_FP16 __ushort_as_half(static_cast<unsigned short>(0x0001))
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half(static_cast<unsigned short>(0x7BFF))
#define CUDART_NEG_ZERO_FP16 __ushort_as_half(static_cast<unsigned short>(0x8000))
#define CUDART_ZERO_FP16 __ushort_as_half(static_cast<unsigned short>(0x0000))
#define CUDART_ONE_FP16 __ushort_as_half(static_cast<unsigned short>(0x3C00))
