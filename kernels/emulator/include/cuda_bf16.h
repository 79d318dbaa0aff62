// CUDA's bfloat16 (f32 without the lower 16 bits): __nv_bfloat16, __nv_bfloat162 and their functions, for kernels and host code.
#pragma once

#include "kernels/emulator/cuda/intrinsics.h"

namespace heddle::emulator::cuda {

/// How the bits of a __nv_bfloat16 are read and rounded.
struct Bfloat16Bits {
    static constexpr unsigned short infinity = 0x7f80;
    static constexpr float value(unsigned short bits) { return bfloat16_to_float(bits); }
    static constexpr unsigned short round(float x) { return float_to_bfloat16(x); }
    static constexpr unsigned short round(double x, Rounding rounding) {
        return static_cast<unsigned short>(encode<8, 7>(x, rounding));
    }
    template <class T>
    static constexpr unsigned short round_integer(T x, Rounding rounding) {
        return static_cast<unsigned short>(encode_integer<8, 7>(x, rounding));
    }
    static unsigned short add(float a, float b) { return float_to_bfloat16(a + b); }
    static unsigned short subtract(float a, float b) { return float_to_bfloat16(a - b); }
    // In f64: f32 would round subnormal products and quotients, and bf16 a second time.
    static unsigned short multiply(double a, double b) { return round(a * b, Rounding::nearest); }
    static unsigned short divide(double a, double b) { return round(a / b, Rounding::nearest); }
    static unsigned short fused(float a, float b, float c) { return round(fused_to_odd(a, b, c), Rounding::nearest); }
};

}  // namespace heddle::emulator::cuda

#define HEDDLE_NAME bfloat16
#define HEDDLE_ONE __nv_bfloat16
#define HEDDLE_PAIR __nv_bfloat162
#define HEDDLE_BITS heddle::emulator::cuda::Bfloat16Bits
#define HEDDLE_NUMBER heddle::emulator::Number::bf16
#define HEDDLE_NUMBER2 heddle::emulator::Number::bf16_pair
#include "kernels/emulator/cuda/half_precision.h"

using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;

#define CUDART_INF_BF16 __ushort_as_bfloat16(static_cast<unsigned short>(0x7F80))
#define CUDART_NAN_BF16 __ushort_as_bfloat16(static_cast<unsigned short>(0x7FFF))
#define CUDART_MIN_DENORM_BF16 __ushort_as_bfloat16(static_cast<unsigned short>(0x0001))
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16(static_cast<unsigned short>(0x7F7F))
#define CUDART_NEG_ZERO_BF16 __ushort_as_bfloat16(static_cast<unsigned short>(0x8000))
#define CUDART_ZERO_BF16 __ushort_as_bfloat16(static_cast<unsigned short>(0x0000))
#define CUDART_ONE_BF16 __ushort_as_bfloat16(static_cast<unsigned short>(0x3F80))
