// GELU and SiLU on vectors, for *_fast.cpp files.
#pragma once

#include "kernels/simd_functions.h"

namespace heddle::kernels {
namespace HEDDLE_LEVEL {

using ::heddle::HEDDLE_LEVEL::VecF;

/// Phi(x), the normal distribution function, and exp(-x^2 / 2), which its derivative needs.
struct NormalDistribution {
    VecF phi;
    VecF bell;
};

/// Phi(-|x|) = erfc(z) / 2 with z = |x| / sqrt 2. No difference of near numbers, so small probabilities keep their digits.
inline NormalDistribution normal_distribution(VecF x) {
    using namespace ::heddle::HEDDLE_LEVEL;
    const VecF bell = exp_below_zero(rounded(x * x * -0.5f));
    const VecF below = rounded(0.5f * bell * scaled_complement(magnitude(x) * 0.707106781f));
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
