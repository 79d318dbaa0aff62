// GELU and SiLU on vectors, for *_fast.cpp files.
#pragma once

#include "kernels/simd.h"

namespace heddle::kernels {
namespace HEDDLE_LEVEL {

using ::heddle::HEDDLE_LEVEL::VecF;

/// Phi(x), the normal distribution function, and exp(-x^2 / 2), which its derivative needs.
struct NormalDistribution {
    VecF phi;
    VecF bell;
};

/// Phi(-|x|) = erfcx(z) exp(-z^2) / 2 with z = |x| / sqrt 2. The scaled complement erfcx(z) = exp(z^2) erfc(z) is t times a
/// polynomial of degree 8 in t = 2 / (2 + z), fitted at Chebyshev's points for z <= 9.7 (above, exp(-z^2) is 0 in f32): relative
/// error 1.7e-7. No difference of near numbers, so small probabilities keep their digits.
inline NormalDistribution normal_distribution(VecF x) {
    using ::heddle::HEDDLE_LEVEL::broadcast;
    const VecF magnitude = x < 0.0f ? -x : x;
    const VecF t = 2.0f / (magnitude * 0.707106781f + 2.0f);
    VecF r = broadcast(-0.05954839289188385f);
    for (const float coefficient : {0.2869803309440613f, -0.49228909611701965f, 0.28396937251091003f, -0.030707022175192833f,
                                    0.20439951121807098f, 0.2426805943250656f, 0.2824312448501587f, 0.2820833921432495f})
        r = r * t + coefficient;
    const VecF bell = ::heddle::HEDDLE_LEVEL::exp(x * x * -0.5f);
    const VecF below = 0.5f * bell * t * r;
    return {x < 0.0f ? below : 1.0f - below, bell};
}

/// A function's value and its derivative.
struct ValueAndSlope {
    VecF value;
    VecF slope;
};

/// x Phi(x) and d gelu / dx = Phi(x) + x phi(x), of one exponential.
inline ValueAndSlope gelu_and_slope(VecF x) {
    const NormalDistribution at = normal_distribution(x);
    return {x * at.phi, at.phi + x * at.bell * 0.398942280f};
}
inline VecF gelu(VecF x) { return gelu_and_slope(x).value; }
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

inline VecF silu(VecF x) { return x / (1.0f + ::heddle::HEDDLE_LEVEL::exp(-x)); }

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
