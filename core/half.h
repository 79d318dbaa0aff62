// IEEE 754 half precision, which files of other programs hold: 5 exponent bits with bias 15, 10 mantissa bits. Storage only, and
// no DType: a tensor read from such a file is f32.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace heddle {

/// Exact.
inline float half_to_float(std::uint16_t half) {
    const int exponent = (half >> 10) & 31;
    const int mantissa = half & 1023;
    const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000) << 16;
    if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | static_cast<std::uint32_t>(mantissa) << 13);
    const float magnitude = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -24)
                                          : std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
    return sign != 0 ? -magnitude : magnitude;
}

/// Rounds to nearest even. A finite number beyond the largest half, 65504, becomes that one, not infinity: an output bias of -1e9
/// stays a number. A NaN stays a NaN.
inline std::uint16_t float_to_half(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
    const float magnitude = std::abs(value);
    if (std::isnan(value)) return static_cast<std::uint16_t>(sign | 0x7e00u);
    if (std::isinf(value)) return static_cast<std::uint16_t>(sign | 0x7c00u);
    if (magnitude >= 65504.0F) return static_cast<std::uint16_t>(sign | 0x7bffu);
    // Below 2^-14 halves are multiples of 2^-24; else eleven bits remain of the mantissa.
    const int exponent = magnitude < 0x1p-14F ? -14 : std::ilogb(magnitude);
    const float units = std::nearbyint(std::ldexp(magnitude, 10 - exponent));  // exact scaling, then ties to even
    const auto mantissa = static_cast<std::uint32_t>(units);                   // 2048 carries into the exponent, as it should
    const std::uint32_t biased = magnitude < 0x1p-14F ? mantissa : mantissa + (static_cast<std::uint32_t>(exponent + 14) << 10);
    return static_cast<std::uint16_t>(sign | biased);
}

}  // namespace heddle
