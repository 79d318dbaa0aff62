// How a tensor core adds, bit for bit as measured by MMA-Sim (Xie et al. 2025, arXiv 2511.10909; mmasim 2.1.1).
//
// One element of D = C + A B is a fused sum of c and some of its products:
//
//     e  the largest exponent of c and of the products, that of a product being exponent(a) + exponent(b), not normalised
//     1  each term loses the bits below 2^(e - fraction_bits): it is truncated, toward zero
//     2  what is left is added exactly
//     3  the sum loses the bits that f32 has no room for: truncated again
//
// So a long sum drifts toward zero, where one that is rounded to the nearest does not.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string_view>

namespace heddle::emulator {

/// The tensor cores of some generations of chips.
struct TensorCores {
    std::string_view name;
    int fraction_bits;  ///< bits of a term that are kept behind the point of the largest one
    int fused_bytes;    ///< bytes of a row of A that one sum takes; the rest of k begins with its result as c
    int zero_exponent;  ///< the exponent of a zero, in the search for the largest one
};
inline constexpr TensorCores kAmpere{"ampere", 24, 16, -132};  ///< sm_80 to sm_89: Ampere and Ada
inline constexpr TensorCores kHopper{"hopper", 25, 32, -133};  ///< sm_90

/// A finite float is significand * 2^(exponent - 23). Subnormals have the exponent -126, and so has zero.
struct Parts {
    std::int64_t significand;
    int exponent;
};
inline Parts parts_of(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const auto field = static_cast<int>(bits >> 23 & 0xff);
    const std::int64_t magnitude = (bits & 0x7fffff) | (field > 0 ? 0x800000 : 0);
    return {bits >> 31 != 0 ? -magnitude : magnitude, std::max(field, 1) - 127};
}

/// c + a[0] b[0] + ... + a[count - 1] b[count - 1] in one fused sum. Each operand is a bf16 or tf32 value. No result is -0, and
/// every NaN is 0x7fffffff.
inline float fused_sum(const TensorCores& cores, const float* a, const float* b, int count, float c) {
    double special = c;  // finite if all operands are: a product of two f32 does not overflow in f64
    int top = c == 0 ? cores.zero_exponent : parts_of(c).exponent;
    for (int k = 0; k < count; ++k) {
        special += static_cast<double>(a[k]) * b[k];
        if (a[k] != 0 && b[k] != 0) top = std::max(top, parts_of(a[k]).exponent + parts_of(b[k]).exponent);
    }
    if (std::isnan(special)) return std::bit_cast<float>(0x7fffffffu);
    if (std::isinf(special)) return static_cast<float>(special);

    // significand * 2^(exponent - 46) in units of 2^unit; an integer division truncates toward zero. Only zeros may lie above
    // top.
    const int unit = top - cores.fraction_bits;
    const auto truncated = [&](std::int64_t significand, int exponent) {
        return significand / (std::int64_t{1} << std::clamp(unit - (exponent - 46), 0, 62));
    };
    const Parts start = parts_of(c);
    std::int64_t sum = truncated(start.significand * (1 << 23), start.exponent);
    for (int k = 0; k < count; ++k) {
        const Parts left = parts_of(a[k]), right = parts_of(b[k]);
        sum += truncated(left.significand * right.significand, left.exponent + right.exponent);
    }
    const auto magnitude = static_cast<std::uint64_t>(std::abs(sum));
    const int excess =
        std::max({0, static_cast<int>(std::bit_width(magnitude)) - 24, -149 - unit});  // bits that f32 has no room for
    const auto kept = static_cast<float>(excess < 64 ? magnitude >> excess : 0);
    return std::ldexp(sum < 0 && kept != 0 ? -kept : kept, unit + excess);
}

}  // namespace heddle::emulator
