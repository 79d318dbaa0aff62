// Conversions between floating-point formats, in integers: each result is the exact value, rounded once.
//
// CUDA's conversions name their rounding (__float2half_rz, __ll2float_ru, ...), and its half types are rounded after each
// operation. Both need a rounding that does not depend on what the CPU can do.
#pragma once

#include <cstdint>

namespace heddle::emulator {

/// How a value that a format lacks is replaced: by the nearest (ties to the even one), or by the next one in a direction.
enum class Rounding { nearest, zero, up, down };

/// The bits of (significand + rest) * 2^exponent in the format with one sign bit, E exponent bits and M mantissa bits, where
/// 0 < rest < 1 if `more` and else 0. Values that are too large become infinity, or the largest finite one if the rounding says
/// so.
template <int E, int M>
constexpr std::uint64_t encode(bool negative, std::uint64_t significand, int exponent, bool more, Rounding rounding) {
    const std::uint64_t sign = static_cast<std::uint64_t>(negative) << (E + M);
    if (significand == 0 && !more) return sign;
    constexpr std::uint64_t infinity = ((std::uint64_t{1} << E) - 1) << M;
    constexpr int least = 2 - (1 << (E - 1)) - M;  // the exponent of the smallest subnormal number
    const int top = significand == 0 ? 0 : 63 - __builtin_clzll(significand);
    const int unit = top + exponent - M > least ? top + exponent - M : least;  // the exponent of the last bit that is kept
    const int drop = unit - exponent;
    std::uint64_t kept = 0;
    bool half = false, rest = more;
    if (drop <= 0) {
        kept = significand << -drop;
    } else if (drop < 64) {
        kept = significand >> drop;
        half = (significand >> (drop - 1) & 1u) != 0;
        rest = rest || (significand & ((std::uint64_t{1} << (drop - 1)) - 1)) != 0;
    } else {
        half = drop == 64 && significand >> 63 != 0;
        rest = rest || (drop == 64 ? significand << 1 : significand) != 0;
    }
    const bool away = rounding == Rounding::up ? !negative : rounding == Rounding::down ? negative : false;
    if (rounding == Rounding::nearest ? half && (rest || (kept & 1u) != 0) : away && (half || rest)) ++kept;
    // A kept leading bit, or a carry, adds itself to the exponent field.
    const std::uint64_t magnitude = kept + (static_cast<std::uint64_t>(unit - least) << M);
    if (magnitude >= infinity) return sign | (rounding == Rounding::nearest || away ? infinity : infinity - 1);
    return sign | magnitude;
}

/// The bits of x in the format, rounded once. A NaN becomes the one with all bits set but the sign, as on a GPU.
template <int E, int M>
constexpr std::uint64_t encode(double x, Rounding rounding) {
    const auto bits = __builtin_bit_cast(std::uint64_t, x);
    const bool negative = bits >> 63 != 0;
    const auto field = static_cast<int>(bits >> 52 & 0x7ff);
    const std::uint64_t fraction = bits & 0xfffffffffffffu;
    if (field == 0x7ff) {
        if (fraction != 0) return (std::uint64_t{1} << (E + M)) - 1;
        return static_cast<std::uint64_t>(negative) << (E + M) | ((std::uint64_t{1} << E) - 1) << M;
    }
    return encode<E, M>(negative, field == 0 ? fraction : fraction | std::uint64_t{1} << 52, (field == 0 ? 1 : field) - 1075,
                        false, rounding);
}

/// The bits of an integer in the format.
template <int E, int M, class Integer>
constexpr std::uint64_t encode_integer(Integer x, Rounding rounding) {
    const bool negative = x < 0;
    const auto bits = static_cast<std::uint64_t>(x);
    return encode<E, M>(negative, negative ? ~bits + 1 : bits, 0, false, rounding);
}

/// f16 to f32: exact. A NaN becomes the one with all bits set, as on a GPU.
constexpr float half_to_float(std::uint16_t half) {
    const std::uint32_t sign = (half & 0x8000u) << 16, magnitude = half & 0x7fffu;
    if (magnitude > 0x7c00u) return __builtin_bit_cast(float, 0x7fffffffu);
    if (magnitude == 0x7c00u) return __builtin_bit_cast(float, sign | 0x7f800000u);
    // The scaling by 2^112 also makes subnormal halves normal.
    const float scaled = __builtin_bit_cast(float, magnitude << 13) * 0x1p112f;
    return __builtin_bit_cast(float, sign | __builtin_bit_cast(std::uint32_t, scaled));
}
/// f32 to f16, to the nearest, ties to even.
constexpr std::uint16_t float_to_half(float x) {
    const auto bits = __builtin_bit_cast(std::uint32_t, x);
    const std::uint32_t sign = bits >> 16 & 0x8000u;
    std::uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return 0x7fff;
    if (magnitude >= 0x47800000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // 2^16 and more
    if (magnitude < 0x38800000u) {  // subnormal: the addition rounds to multiples of 2^-24
        const float rounded = __builtin_bit_cast(float, magnitude) + 0.5f;
        return static_cast<std::uint16_t>(sign | (__builtin_bit_cast(std::uint32_t, rounded) - 0x3f000000u));
    }
    magnitude += 0xfffu + (magnitude >> 13 & 1u);
    return static_cast<std::uint16_t>(sign | (magnitude - (112u << 23)) >> 13);
}
/// bf16 to f32: exact, also for a NaN.
constexpr float bfloat16_to_float(std::uint16_t x) { return __builtin_bit_cast(float, static_cast<std::uint32_t>(x) << 16); }
/// f32 to bf16, to the nearest, ties to even.
constexpr std::uint16_t float_to_bfloat16(float x) {
    const auto bits = __builtin_bit_cast(std::uint32_t, x);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
    return static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

/// a b + c for values of at most 24 bits, with the last bit set if the sum is not exact (round to odd): rounding the result to a
/// shorter format then rounds the exact value.
inline double fused_to_odd(double a, double b, double c) {
    const double product = a * b, sum = product + c;  // the product is exact
    const double back = sum - product, error = (product - (sum - back)) + (c - back);
    if (!(error != 0) || sum - sum != 0) return sum;
    auto bits = __builtin_bit_cast(std::uint64_t, sum);
    if ((bits & 1u) == 0) bits += (error > 0) == (sum > 0) ? 1 : -1;
    return __builtin_bit_cast(double, bits);
}

/// x as an integer, rounded; saturated if it does not fit. NaN is 0, but the smallest signed (the middle unsigned) number if
/// `wide`: the source or the result has 64 bits (PTX ISA, cvt).
template <class Integer>
inline Integer to_integer(double x, Rounding rounding, bool wide) {
    constexpr bool is_signed = static_cast<Integer>(-1) < 0;
    constexpr int bits = 8 * static_cast<int>(sizeof(Integer));
    constexpr auto middle = static_cast<Integer>(std::uint64_t{1} << (bits - 1));
    constexpr Integer least = is_signed ? middle : Integer{0};
    if (x != x) return wide ? middle : Integer{0};
    const double y = rounding == Rounding::nearest ? __builtin_nearbyint(x)
                     : rounding == Rounding::zero  ? __builtin_trunc(x)
                     : rounding == Rounding::up    ? __builtin_ceil(x)
                                                   : __builtin_floor(x);
    const double limit = (is_signed ? 1.0 : 2.0) * static_cast<double>(std::uint64_t{1} << (bits - 1));
    if (y >= limit) return static_cast<Integer>(~least);
    return y <= static_cast<double>(least) ? least : static_cast<Integer>(y);
}

}  // namespace heddle::emulator
