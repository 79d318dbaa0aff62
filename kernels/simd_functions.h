// Functions of a real number on vectors, for *_fast.cpp files: within 3 ulp, with denormal arguments and results, infinities, NaN
// and signed zeros as the standard library's. Polynomials are fitted at Chebyshev's points;
// tests/kernels/elementwise_accuracy_test.cpp measures the errors.
#pragma once

#include <bit>

#include "kernels/simd.h"

namespace heddle {
namespace HEDDLE_LEVEL {

inline VecI bits_of(VecF x) { return std::bit_cast<VecI>(x); }
inline VecF float_of(VecI bits) { return std::bit_cast<VecF>(bits); }

inline VecI sign_bits(VecF x) { return bits_of(x) & std::numeric_limits<std::int32_t>::min(); }
inline VecF magnitude(VecF x) { return float_of(bits_of(x) & std::numeric_limits<std::int32_t>::max()); }
/// `size`, which is not negative, with the sign of x.
inline VecF with_sign(VecF size, VecF x) { return float_of(bits_of(size) | sign_bits(x)); }

/// e^x as simd.h's exp, but with the denormal results below e^-87.3. The exponent is shifted in two halves, so that neither
/// leaves the range of floats.
inline VecF exp_gradual(VecF x) {
    const VecF low = x < -104.0f ? broadcast(-104.0f) : x;  // e^-104 rounds to 0
    const auto [p, bits] = exp_parts(low > 89.0f ? broadcast(89.0f) : low);
    const VecI exponent = (bits & 0x7fffff) - 0x400000;
    const VecI half = exponent >> 1;
    return p * float_of((half + 127) << 23) * float_of((exponent - half + 127) << 23);
}

/// exp_gradual for x <= 0, where the exponent stays in range if it is shifted up by 64 first.
inline VecF exp_gradual_below_zero(VecF x) {
    const auto [p, bits] = exp_parts(x < -104.0f ? broadcast(-104.0f) : x);
    return p * float_of((bits + (127 + 64)) << 23) * 0x1p-64f;
}

/// ln x. x = 2^e (1 + f) with 1 + f between sqrt(1/2) and sqrt 2; ln(1 + f) = f - f^2 / 2 + f^3 times a polynomial.
inline VecF log(VecF x) {
    constexpr std::int32_t kRootOfHalf = 0x3f3504f3;
    const VecI denormal = x < 1.17549435e-38f;
    // Unsigned: below zero, where the result is NaN, the difference may leave the range of signed numbers. 8388608 is 2^23.
    const auto scaled = std::bit_cast<VecU>(denormal ? x * 8388608.0f : x);
    const auto bits = std::bit_cast<VecI>(scaled - static_cast<std::uint32_t>(kRootOfHalf));
    const VecF e = __builtin_convertvector((bits >> 23) - (denormal & 23), VecF);
    const VecF f = float_of((bits & 0x7fffff) + kRootOfHalf) - 1.0f;
    const VecF square = f * f;
    VecF p = broadcast(0.06971681f);
    for (const float coefficient :
         {-0.11479837f, 0.11685443f, -0.12425676f, 0.14249054f, -0.16667803f, 0.20000716f, -0.24999997f, 0.3333333f})
        p = p * f + coefficient;
    // ln 2 in two parts: the first has few digits, so that its product with e is exact. No sum has a product on either side:
    // which of the two becomes part of a fused operation would be the compiler's choice, and the bits of a level its own.
    const VecF y = (p * f - 0.5f) * square + (e * -2.12194440e-4f + f) + e * 0.693359375f;
    const VecF finite = x == std::numeric_limits<float>::infinity() ? x : y;
    const VecF above = x == 0.0f ? broadcast(-std::numeric_limits<float>::infinity()) : finite;
    return x >= 0.0f ? above : broadcast(std::numeric_limits<float>::quiet_NaN());
}

/// tanh x: an odd polynomial near 0, and 1 - 2 / (e^2x + 1) beyond.
inline VecF tanh(VecF x) {
    const VecF size = magnitude(x), square = size * size;
    VecF p = broadcast(0.0022927448f);
    for (const float coefficient : {-0.008343945f, 0.021768918f, -0.053959258f, 0.13333304f, -0.33333334f})
        p = p * square + coefficient;
    const VecF wide = 1.0f - 2.0f / (exp(size + size) + 1.0f);
    return with_sign(size < 0.625f ? size + size * (square * p) : wide, x);
}

/// e^x - 1. Near 0, with u the rounded e^x: (u - 1) x / ln u, in which u's error cancels (Kahan).
inline VecF expm1(VecF x) {
    const VecF u = exp_gradual(x), difference = u - 1.0f;
    const VecF corrected = difference * (x / log(u));
    return magnitude(x) > 1.0f ? difference : (difference == 0.0f ? x : corrected);
}

/// ln(1 + x), likewise: ln u x / (u - 1) with u the rounded 1 + x.
inline VecF log1p(VecF x) {
    const VecF u = x + 1.0f, difference = u - 1.0f, at = log(u);
    const VecF corrected = at * (x / difference);
    return difference == 0.0f ? x : (x == std::numeric_limits<float>::infinity() ? x : corrected);
}

/// 1 / (1 + e^-x), without a difference of near numbers.
inline VecF sigmoid(VecF x) {
    const VecF e = exp_gradual_below_zero(-magnitude(x)), share = 1.0f / (e + 1.0f);
    return x < 0.0f ? e * share : share;
}

/// ln(1 + e^x)
inline VecF softplus(VecF x) {
    const VecF above = x < 0.0f ? broadcast(0.0f) : x;
    return above + log1p(exp_gradual_below_zero(-magnitude(x)));
}

/// exp(z^2) erfc(z) for z >= 0 in f32: t times a polynomial of degree 8 in t = 2 / (2 + z), fitted for z <= 9.7 (above, erfc(z)
/// is 0 in f32): relative error 1.7e-7.
inline VecF scaled_complement(VecF z) {
    const VecF t = 2.0f / (z + 2.0f);
    VecF r = broadcast(-0.05954839289188385f);
    for (const float coefficient : {0.2869803309440613f, -0.49228909611701965f, 0.28396937251091003f, -0.030707022175192833f,
                                    0.20439951121807098f, 0.2426805943250656f, 0.2824312448501587f, 0.2820833921432495f})
        r = r * t + coefficient;
    return t * r;
}

/// erf x: an odd polynomial near 0, and 1 - erfc |x| beyond.
inline VecF erf(VecF x) {
    const VecF size = magnitude(x), square = rounded(size * size);
    VecF p = broadcast(8.5341206e-05f);
    for (const float coefficient : {-0.00081807812f, 0.0052043316f, -0.026860708f, 0.11283719f, -0.37612635f, 0.12837917f})
        p = p * square + coefficient;
    const VecF wide = 1.0f - rounded(scaled_complement(size) * exp_below_zero(-square));
    return with_sign(size < 0.9f ? size * p + size : wide, x);
}

/// sin r and cos r for |r| <= pi / 4.
struct SinCos {
    VecF sin, cos;
};
inline SinCos sin_cos_near_zero(VecF r) {
    const VecF square = r * r;
    return {r + r * (square * (((square * 2.7249926e-06f + -0.00019840087f) * square + 0.008333332f) * square + -0.16666667f)),
            square * (square * ((square * 2.4547942e-05f + -0.0013888302f) * square + 0.041666664f) - 0.5f) + 1.0f};
}

/// sin x and cos x by x = n pi / 2 + r. r is computed in double: x may be near to a multiple of pi / 2, where r has few digits of
/// x.
struct QuarterTurns {
    VecI n;
    VecF sin_r, cos_r;
};
inline QuarterTurns quarter_turns(VecF x) {
    typedef float HalfF __attribute__((vector_size(kVectorBytes / 2)));
    typedef std::int32_t HalfI __attribute__((vector_size(kVectorBytes / 2)));
    HalfF parts[2];
    HalfI turns[2];
    std::memcpy(parts, &x, sizeof x);
    for (int i = 0; i < 2; ++i) {
        const Vec<double> wide = __builtin_convertvector(parts[i], Vec<double>);
        const Vec<double> n = (wide * 0.63661977236758134 + 0x1.8p52) - 0x1.8p52;  // 2 / pi, rounded to an integer
        // pi / 2 in two parts, the first of 33 bits: its product with n is exact.
        parts[i] = __builtin_convertvector(wide - n * 1.57079632673412561417e+00 - n * 6.07710050650619224932e-11, HalfF);
        turns[i] = __builtin_convertvector(n, HalfI);
    }
    VecF r;
    QuarterTurns result;
    std::memcpy(&r, parts, sizeof r);
    std::memcpy(&result.n, turns, sizeof result.n);
    const SinCos at = sin_cos_near_zero(r);
    result.sin_r = at.sin;
    result.cos_r = at.cos;
    return result;
}

/// y, but function(x[i]) in the lanes beyond what quarter_turns() takes.
template <class Function>
inline VecF with_far_lanes(VecF y, VecF x, Function function) {
    const VecI beyond = ~(magnitude(x) < 1e6f);
    if (fold<kFloats / 2>(beyond, [](VecI a, VecI b) { return a | b; }) != 0)
        for (int i = 0; i < kFloats; ++i)
            if (beyond[i] != 0) y[i] = function(x[i]);
    return y;
}

inline VecF sin(VecF x) {
    const QuarterTurns turns = quarter_turns(x);
    const VecF near = (turns.n & 1) != 0 ? turns.cos_r : turns.sin_r;
    const VecF y = x == 0.0f ? x : float_of(bits_of(near) ^ ((turns.n & 2) << 30));  // x: the sign of zero
    return with_far_lanes(y, x, [](float at) { return std::sin(at); });
}

inline VecF cos(VecF x) {
    const QuarterTurns turns = quarter_turns(x);
    const VecF near = (turns.n & 1) != 0 ? turns.sin_r : turns.cos_r;
    return with_far_lanes(float_of(bits_of(near) ^ (((turns.n + 1) & 2) << 30)), x, [](float at) { return std::cos(at); });
}

}  // namespace HEDDLE_LEVEL
}  // namespace heddle
