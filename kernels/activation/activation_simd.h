// GELU and SiLU on vectors, for *_fast.cpp files.
#pragma once

#include "kernels/simd_functions.h"

namespace heddle::kernels {
namespace HEDDLE_LEVEL {

using ::heddle::HEDDLE_LEVEL::VecF;

/// What GELU and its derivative are made of, for |x| up to 12.9: beyond, the result is x, or stays above -3e-37.
struct NormalTail {
    VecF size;   ///< |x|
    VecF below;  ///< Phi(-|x|)
    VecF bell;   ///< exp(-x^2 / 2)
};

/// 2^y for -126 <= y <= 0. With y = n + f, |f| <= 1/2, it is 2^n times a polynomial of degree 6, fitted at Chebyshev's points:
/// relative error 2e-9 before rounding.
inline VecF power_of_two(VecF y) {
    using namespace ::heddle::HEDDLE_LEVEL;
    const VecF shifted = y + 12582912.0f;  // 1.5 * 2^23 + n
    const VecF f = y - (shifted - 12582912.0f);
    VecF p = broadcast(0.00015337577f);
    for (const float coefficient : {0.001339986f, 0.00961852f, 0.05550329f, 0.24022646f, 0.6931472f, 1.0f})
        p = p * f + coefficient;
    return p * float_of((bits_of(shifted) << 23) + (127 << 23));
}

/// Phi(-|x|) = erfc(z) / 2 with z = |x| / sqrt 2. No difference of near numbers, so small probabilities keep their digits.
inline NormalTail normal_tail(VecF x) {
    using namespace ::heddle::HEDDLE_LEVEL;
    // Compared as integers, which is one instruction; a NaN returns in gelu_of().
    const VecI bits = bits_of(x) & std::numeric_limits<std::int32_t>::max(), most = bits_of(broadcast(12.9f));
    const VecF size = float_of(bits > most ? most : bits);
    const VecF bell = power_of_two(rounded(size * size * -0.721347520f));  // log2(e) / 2
    return {size, rounded(0.5f * bell * scaled_complement(size * 0.707106781f)), bell};
}

/// A function's value and its derivative.
struct ValueAndSlope {
    VecF value;
    VecF slope;
};

/// x Phi(x) = max(x, 0) - |x| Phi(-|x|); max(x, 0) as the mean of x and |x|, so that an infinity below 0 shows up as NaN.
inline VecF gelu_of(VecF x, const NormalTail& at) {
    const VecF above = x * 0.5f + ::heddle::HEDDLE_LEVEL::rounded(::heddle::HEDDLE_LEVEL::magnitude(x) * 0.5f);
    return above - at.size * at.below;
}

/// x Phi(x) and d gelu / dx = Phi(x) + x phi(x), of one exponential.
inline ValueAndSlope gelu_and_slope(VecF x) {
    const NormalTail at = normal_tail(x);
    const VecF less = at.below - at.size * at.bell * 0.398942280f;  // the slope at -|x|
    return {gelu_of(x, at), x < 0.0f ? less : 1.0f - less};
}
inline VecF gelu(VecF x) { return gelu_of(x, normal_tail(x)); }
inline VecF gelu_slope(VecF x) { return gelu_and_slope(x).slope; }

/// exp(-2 u), u = sqrt(2 / pi) (x + 0.044715 x^3)
inline VecF gelu_tanh_exponential(VecF x) { return ::heddle::HEDDLE_LEVEL::exp(x * (x * x * -0.0713548163f + -1.59576912f)); }

inline VecF gelu_tanh(VecF x) { return x / (1.0f + gelu_tanh_exponential(x)); }

/// d gelu_tanh / dx = s + x s (1 - s) 2 u'
inline VecF gelu_tanh_slope(VecF wide) {
    // Beyond 9 the slope is 0 or 1 in f32, and u' would overflow.
    const VecF x =
        wide > 9.0f ? ::heddle::HEDDLE_LEVEL::broadcast(9.0f) : (wide < -9.0f ? ::heddle::HEDDLE_LEVEL::broadcast(-9.0f) : wide);
    const VecF e = gelu_tanh_exponential(x);
    const VecF s = 1.0f / (1.0f + e);
    return s + x * (s * e) * s * (x * x * 0.214064449f + 1.59576912f);  // 1 - s = s e, without the difference
}

/// gelu_tanh(x) and gelu_tanh_slope(x), of one exponential where no lane is beyond 9: with the same bits as theirs.
inline ValueAndSlope gelu_tanh_and_slope(VecF x) {
    const VecF e = gelu_tanh_exponential(x);
    const VecF value = x / (1.0f + e);
    const auto beyond = (x > 9.0f) | (x < -9.0f);
    if (::heddle::HEDDLE_LEVEL::fold<::heddle::HEDDLE_LEVEL::kFloats / 2>(beyond, [](auto a, auto b) { return a | b; }) != 0)
        return {value, gelu_tanh_slope(x)};
    const VecF s = 1.0f / (1.0f + e);
    return {value, s + x * (s * e) * s * (x * x * 0.214064449f + 1.59576912f)};
}

/// x / (1 + e^-x). Below e^-30 the exponential changes nothing, so one shift of the exponent is enough: twice e^-x / 2.
inline VecF silu(VecF x) {
    using namespace ::heddle::HEDDLE_LEVEL;
    const VecF high = x < -89.0f ? broadcast(-89.0f) : x;
    const auto [p, bits] = exp_parts(-(high > 30.0f ? broadcast(30.0f) : high));
    return x / (p * float_of((bits << 23) + (126 << 23)) * 2.0f + 1.0f);
}

/// silu(x) with silu's bits, and d silu / dx = s + x s (1 - s), of one exponential.
inline ValueAndSlope silu_and_slope(VecF x) {
    // Below -87 the slope is 0 in f32, and the exponential would overflow.
    const VecF e = ::heddle::HEDDLE_LEVEL::exp(-x);
    const VecF s = 1.0f / (1.0f + e);
    const VecF slope = s + x * (s * e) * s;  // 1 - s = s e, without the difference
    return {x / (1.0f + e), x < -87.0f ? VecF{} : slope};
}

}  // namespace HEDDLE_LEVEL
}  // namespace heddle::kernels
