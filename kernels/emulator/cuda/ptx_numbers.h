// PTX's registers, its floating-point arithmetic and comparisons (ptx.h).
#pragma once

#include <cstdint>

#include "kernels/emulator/device_calls.h"
#include "kernels/emulator/float_formats.h"
#include "kernels/emulator/interface.h"

namespace heddle::emulator::cuda::ptx {

using bits = std::uint64_t;
using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using s8 = std::int8_t;
using s16 = std::int16_t;
using s32 = std::int32_t;
using s64 = std::int64_t;
using f32 = float;
using f64 = double;
using pred = bool;
struct f16 {
    u16 raw;
};
struct bf16 {
    u16 raw;
};
struct f16x2 {
    u32 raw;
};
struct bf16x2 {
    u32 raw;
};

inline constexpr int ftz = 1, sat = 2, rz = 4, rm = 8, rp = 12;  // .ftz, .sat and the roundings
constexpr Rounding rounding(int flags) {
    return (flags & rp) == rz   ? Rounding::zero
           : (flags & rp) == rm ? Rounding::down
           : (flags & rp) == rp ? Rounding::up
                                : Rounding::nearest;
}

template <class A, class B>
inline constexpr bool same = false;
template <class A>
inline constexpr bool same<A, A> = true;
template <class T>
inline constexpr bool is_half = same<T, f16> || same<T, bf16>;
template <class T>
inline constexpr bool is_pair = same<T, f16x2> || same<T, bf16x2>;
template <class T>
inline constexpr bool is_float = same<T, f32> || same<T, f64> || is_half<T>;
template <class T>
inline constexpr bool is_integer = !is_float<T> && !is_pair<T>;
template <class T>
constexpr bool is_signed() {
    if constexpr (is_integer<T>)
        return static_cast<T>(-1) < static_cast<T>(0);
    else
        return true;
}
namespace detail {
template <int Bytes>
struct Unsigned;
template <>
struct Unsigned<1> {
    using type = u8;
};
template <>
struct Unsigned<2> {
    using type = u16;
};
template <>
struct Unsigned<4> {
    using type = u32;
};
template <>
struct Unsigned<8> {
    using type = u64;
};
template <class T>
struct Half {
    using type = bf16;
};
template <>
struct Half<f16x2> {
    using type = f16;
};
}  // namespace detail
/// The unsigned integer with as many bits.
template <class T>
using bits_of = typename detail::Unsigned<sizeof(T)>::type;

template <class T>
T get(bits from) {
    return from_bits<T>(from);
}
template <class T>
bits put(T value) {
    if constexpr (is_integer<T> && is_signed<T>())
        return static_cast<bits>(static_cast<s64>(value));
    else
        return to_bits(value);
}
/// The lower bits, as many as T has, extended as T is.
template <class T>
bits low(bits from) {
    return put(get<T>(from));
}
inline bool on(bits predicate) { return (predicate & 1) != 0; }

template <class T>
constexpr Number number_of() {
    return same<T, f32>      ? Number::f32
           : same<T, f64>    ? Number::f64
           : same<T, f16>    ? Number::f16
           : same<T, bf16>   ? Number::bf16
           : same<T, f16x2>  ? Number::f16_pair
           : same<T, bf16x2> ? Number::bf16_pair
           : is_signed<T>()  ? Number::signed_integer
                             : Number::unsigned_integer;
}

// ---- floating point ----

/// The value of any floating-point type: exact.
template <class T>
double value_of(bits from) {
    if constexpr (same<T, f16>)
        return half_to_float(get<u16>(from));
    else if constexpr (same<T, bf16>)
        return bfloat16_to_float(get<u16>(from));
    else
        return static_cast<double>(get<T>(from));
}
template <class T, int Flags>
double operand(bits from) {
    const double x = value_of<T>(from);
    return same<T, f32> && (Flags & ftz) != 0 && x < 0x1p-126 && x > -0x1p-126 ? __builtin_copysign(0.0, x) : x;
}
/// The nearest T of x, or that of the rounding; x is exact, or rounded to odd.
template <class T, int Flags>
bits result(double x) {
    if ((Flags & sat) != 0) x = x > 1 ? 1 : x > 0 ? x : 0;
    if constexpr (same<T, f64>) {
        return to_bits(x);
    } else if constexpr (same<T, f16>) {
        return encode<5, 10>(x, rounding(Flags));
    } else if constexpr (same<T, bf16>) {
        return encode<8, 7>(x, rounding(Flags));
    } else {
        const bits made = (Flags & rp) == 0 ? to_bits(static_cast<float>(x)) : encode<8, 23>(x, rounding(Flags));
        return (Flags & ftz) != 0 && (made & 0x7f800000u) == 0 ? made & 0x80000000u : made;
    }
}
/// An instruction on pairs of halves, as one on each half.
template <class T, class Each>
bits each_half(Each&& each) {
    return (each(16) & 0xffff) << 16 | (each(0) & 0xffff);
}
template <class T>
using half_of = typename detail::Half<T>::type;

/// a b + c, rounded once.
template <class T, int Flags = 0>
bits fma(bits a, bits b, bits c) {
    if constexpr (is_pair<T>) {
        return each_half<T>([&](int s) { return fma<half_of<T>, Flags>(a >> s, b >> s, c >> s); });
    } else if constexpr (same<T, f64>) {
        static_assert((Flags & rp) == 0, "inline PTX: f64 with a rounding other than .rn is not emulated");
        return result<T, Flags>(__builtin_fma(get<f64>(a), get<f64>(b), get<f64>(c)));
    } else if constexpr (same<T, f32> && (Flags & rp) == 0) {
        const auto x = static_cast<float>(operand<T, Flags>(a)), y = static_cast<float>(operand<T, Flags>(b));
        return result<T, Flags>(__builtin_fmaf(x, y, static_cast<float>(operand<T, Flags>(c))));
    } else {
        return result<T, Flags>(fused_to_odd(operand<T, Flags>(a), operand<T, Flags>(b), operand<T, Flags>(c)));
    }
}
template <class T, int Flags = 0>
bits add(bits a, bits b) {
    if constexpr (is_pair<T>) {
        return each_half<T>([&](int s) { return add<half_of<T>, Flags>(a >> s, b >> s); });
    } else if constexpr (is_float<T>) {
        if constexpr (same<T, f64>) {
            static_assert((Flags & rp) == 0, "inline PTX: f64 with a rounding other than .rn is not emulated");
            return result<T, Flags>(get<f64>(a) + get<f64>(b));
        } else {
            return result<T, Flags>(fused_to_odd(operand<T, Flags>(a), 1, operand<T, Flags>(b)));
        }
    } else {
        if constexpr ((Flags & sat) != 0) {
            const s64 sum = static_cast<s64>(get<s32>(a)) + get<s32>(b);
            return put(static_cast<s32>(sum > 0x7fffffff ? 0x7fffffff : sum < -0x7fffffff - 1 ? -0x7fffffff - 1 : sum));
        }
        return low<T>(a + b);
    }
}
template <class T, int Flags = 0>
bits negate(bits a) {
    if constexpr (is_pair<T>)
        return (a ^ 0x80008000u) & 0xffffffffu;
    else if constexpr (is_float<T>)
        return to_bits(static_cast<bits_of<T>>(get<bits_of<T>>(a) ^ bits_of<T>(bits_of<T>(1) << (8 * sizeof(T) - 1))));
    else
        return low<T>(~a + 1);
}
template <class T, int Flags = 0>
bits absolute(bits a) {
    if constexpr (is_pair<T>)
        return a & 0x7fff7fffu;
    else if constexpr (is_float<T>)
        return to_bits(
            static_cast<bits_of<T>>(get<bits_of<T>>(a) & static_cast<bits_of<T>>(~(bits_of<T>(1) << (8 * sizeof(T) - 1)))));
    else
        return get<T>(a) < 0 ? low<T>(~a + 1) : low<T>(a);
}
template <class T, int Flags = 0>
bits subtract(bits a, bits b) {
    if constexpr (is_integer<T>) {
        if constexpr ((Flags & sat) != 0) {
            const s64 difference = static_cast<s64>(get<s32>(a)) - get<s32>(b);
            return put(static_cast<s32>(difference > 0x7fffffff        ? 0x7fffffff
                                        : difference < -0x7fffffff - 1 ? -0x7fffffff - 1
                                                                       : difference));
        }
        return low<T>(a - b);
    } else {
        return add<T, Flags>(a, negate<T>(b));
    }
}
template <class T, int Flags = 0>
bits multiply(bits a, bits b) {
    if constexpr (is_pair<T>) {
        return each_half<T>([&](int s) { return multiply<half_of<T>, Flags>(a >> s, b >> s); });
    } else if constexpr (same<T, f64>) {
        static_assert((Flags & rp) == 0, "inline PTX: f64 with a rounding other than .rn is not emulated");
        return result<T, Flags>(get<f64>(a) * get<f64>(b));
    } else if constexpr (is_float<T>) {
        return result<T, Flags>(operand<T, Flags>(a) * operand<T, Flags>(b));  // exact in f64
    } else {
        return low<T>(get<bits_of<T>>(a) * static_cast<bits>(get<bits_of<T>>(b)));
    }
}
template <class T, int Flags = 0>
bits mad(bits a, bits b, bits c) {
    return add<T, Flags>(multiply<T>(a, b), c);
}
template <class T, int Flags = 0>
bits divide(bits a, bits b) {
    if constexpr (is_integer<T>) {
        const T x = get<T>(a), y = get<T>(b);
        return y == 0                                      ? low<T>(~bits{0})
               : is_signed<T>() && y == static_cast<T>(-1) ? low<T>(~a + 1)
                                                           : put(static_cast<T>(x / y));
    } else {
        static_assert((Flags & rp) == 0, "inline PTX: div with a rounding other than .rn is not emulated");
        if constexpr (same<T, f32>) {
            const auto x = static_cast<float>(operand<T, Flags>(a)), y = static_cast<float>(operand<T, Flags>(b));
            return result<T, Flags>(x / y);
        } else {
            return result<T, Flags>(value_of<T>(a) / value_of<T>(b));
        }
    }
}
template <class T, int Flags = 0>
bits minimum(bits a, bits b) {
    if constexpr (is_pair<T>)
        return each_half<T>([&](int s) { return minimum<half_of<T>, Flags>(a >> s, b >> s); });
    else if constexpr (is_float<T>)
        return result<T, Flags>(__builtin_fmin(operand<T, Flags>(a), operand<T, Flags>(b)));
    else
        return put(get<T>(b) < get<T>(a) ? get<T>(b) : get<T>(a));
}
template <class T, int Flags = 0>
bits maximum(bits a, bits b) {
    if constexpr (is_pair<T>)
        return each_half<T>([&](int s) { return maximum<half_of<T>, Flags>(a >> s, b >> s); });
    else if constexpr (is_float<T>)
        return result<T, Flags>(__builtin_fmax(operand<T, Flags>(a), operand<T, Flags>(b)));
    else
        return put(get<T>(a) < get<T>(b) ? get<T>(b) : get<T>(a));
}
/// A function of one number; of pairs, of each half.
template <class T, int Flags, class F>
bits function(bits a, F f) {
    if constexpr (is_pair<T>)
        return each_half<T>([&](int s) { return function<half_of<T>, Flags>(a >> s, f); });
    else
        return result<T, Flags>(f(operand<T, Flags>(a)));
}
#define HEDDLE_FUNCTION(NAME, EXPRESSION)                                  \
    template <class T, int Flags = 0>                                      \
    bits NAME(bits a) {                                                    \
        return function<T, Flags>(a, [](double x) { return EXPRESSION; }); \
    }
HEDDLE_FUNCTION(reciprocal, 1 / x)
HEDDLE_FUNCTION(square_root, __builtin_sqrt(x))
HEDDLE_FUNCTION(reciprocal_root, 1 / __builtin_sqrt(x))
HEDDLE_FUNCTION(sine, __builtin_sin(x))
HEDDLE_FUNCTION(cosine, __builtin_cos(x))
HEDDLE_FUNCTION(logarithm, __builtin_log2(x))
HEDDLE_FUNCTION(power_of_two, __builtin_exp2(x))
HEDDLE_FUNCTION(hyperbolic_tangent, __builtin_tanh(x))
#undef HEDDLE_FUNCTION
template <class T, int Flags = 0>
bits copy_sign(bits sign, bits size) {
    constexpr bits top = bits{1} << (8 * sizeof(T) - 1);
    return (size & (top - 1)) | (sign & top);
}
enum class Test { finite, infinite, number, notanumber, normal, subnormal };
template <class T>
bits test(Test what, bits a) {
    const T x = get<T>(a);
    switch (what) {
        case Test::finite: return x - x == 0;
        case Test::infinite: return x == x && x - x != 0;
        case Test::number: return x == x;
        case Test::notanumber: return x != x;
        case Test::normal: return __builtin_isnormal(x) != 0;
        default: return x != 0 && x - x == 0 && __builtin_isnormal(x) == 0;
    }
}

// ---- comparisons ----

enum class Compare { eq, ne, lt, le, gt, ge, lo, ls, hi, hs, equ, neu, ltu, leu, gtu, geu, num, nan };
template <class T, int Flags = 0>
bits compare(Compare how, bits a, bits b) {
    const auto decide = [how](auto x, auto y) -> bool {
        const bool unordered = x != x || y != y;
        switch (how) {
            case Compare::eq: return x == y;
            case Compare::ne: return !unordered && x != y;
            case Compare::lt:
            case Compare::lo: return x < y;
            case Compare::le:
            case Compare::ls: return x <= y;
            case Compare::gt:
            case Compare::hi: return x > y;
            case Compare::ge:
            case Compare::hs: return x >= y;
            case Compare::equ: return unordered || x == y;
            case Compare::neu: return unordered || x != y;
            case Compare::ltu: return unordered || x < y;
            case Compare::leu: return unordered || x <= y;
            case Compare::gtu: return unordered || x > y;
            case Compare::geu: return unordered || x >= y;
            case Compare::num: return !unordered;
            default: return unordered;
        }
    };
    if constexpr (is_float<T>)
        return decide(operand<T, Flags>(a), operand<T, Flags>(b));
    else
        return decide(get<T>(a), get<T>(b));
}
/// The result of set: 1.0, or all ones.
template <class T>
bits select_all(bits condition) {
    if constexpr (same<T, f32>) return to_bits(on(condition) ? 1.0f : 0.0f);
    return on(condition) ? low<bits_of<T>>(~bits{0}) : 0;
}
template <class T>
bool not_negative(bits a) {
    return !(get<T>(a) < 0);
}

}  // namespace heddle::emulator::cuda::ptx
