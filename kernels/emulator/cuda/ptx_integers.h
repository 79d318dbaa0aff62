// PTX's arithmetic on integers, and its conversions (ptx.h).
#pragma once

#include "kernels/emulator/cuda/ptx_numbers.h"

namespace heddle::emulator::cuda::ptx {

template <class T, int Flags = 0>
bits multiply_wide(bits a, bits b) {
    static_assert(sizeof(T) <= 4, "inline PTX: mul.wide takes 16 and 32 bits");
    const bits product = low<T>(a) * low<T>(b);  // both extended
    return sizeof(T) == 2 ? (is_signed<T>() ? low<s32>(product) : low<u32>(product)) : product;
}
template <class T, int Flags = 0>
bits multiply_high(bits a, bits b) {
    if constexpr (sizeof(T) < 8) {
        return low<T>(low<T>(a) * low<T>(b) >> (8 * sizeof(T)));
    } else {
        __extension__ using Wide = unsigned __int128;
        const auto high = static_cast<bits>(static_cast<Wide>(a) * b >> 64);
        if constexpr (is_signed<T>())
            return high - (get<s64>(a) < 0 ? b : 0) - (get<s64>(b) < 0 ? a : 0);
        else
            return high;
    }
}
template <class T>
bits multiply24(bits a, bits b) {
    const auto cut = [](bits x) { return is_signed<T>() ? static_cast<bits>(static_cast<s64>(x << 40) >> 40) : x & 0xffffff; };
    return low<T>(cut(a) * cut(b));
}
template <class T>
bits mad24(bits a, bits b, bits c) {
    return low<T>(multiply24<T>(a, b) + c);
}
template <class T, int Flags = 0>
bits remainder(bits a, bits b) {
    const T x = get<T>(a), y = get<T>(b);
    return y == 0 ? low<T>(a) : is_signed<T>() && y == static_cast<T>(-1) ? 0 : put(static_cast<T>(x % y));
}
template <class T>
bits add_carry(bits a, bits b, bits& carry, bool with, bool keeps) {
    const bits x = low<bits_of<T>>(a), y = low<bits_of<T>>(b), sum = x + y, all = sum + (with ? carry : 0);
    if (keeps) carry = sizeof(T) == 8 ? (sum < x || all < sum) : all >> (8 * sizeof(T) % 64) & 1;
    return low<T>(all);
}
template <class T>
bits subtract_carry(bits a, bits b, bits& borrow, bool with, bool keeps) {
    const bits x = low<bits_of<T>>(a), y = low<bits_of<T>>(b), difference = x - y, all = difference - (with ? borrow : 0);
    if (keeps) borrow = x < y || (with && borrow != 0 && difference == 0);
    return low<T>(all);
}
template <class T, int Flags = 0>
bits sum_of_difference(bits a, bits b, bits c) {
    return low<T>((get<T>(a) < get<T>(b) ? b - a : a - b) + c);
}
template <class A, class B>
bits dot4(bits a, bits b, bits c) {
    bits sum = c;
    for (int i = 0; i < 4; ++i) {
        const bits x = is_signed<A>() ? low<s8>(a >> (8 * i)) : low<u8>(a >> (8 * i));
        sum += x * (is_signed<B>() ? low<s8>(b >> (8 * i)) : low<u8>(b >> (8 * i)));
    }
    return low<u32>(sum);
}
template <class T, int Flags = 0>
bits bit_and(bits a, bits b) {
    return low<T>(a & b);
}
template <class T, int Flags = 0>
bits bit_or(bits a, bits b) {
    return low<T>(a | b);
}
template <class T, int Flags = 0>
bits bit_xor(bits a, bits b) {
    return low<T>(a ^ b);
}
template <class T, int Flags = 0>
bits bit_not(bits a) {
    return same<T, pred> ? a ^ 1 : low<T>(~a);
}
template <class T, int Flags = 0>
bits logical_not(bits a) {
    return low<T>(a) == 0;
}
template <class T, int Flags = 0>
bits shift_left(bits a, bits by) {
    return low<u32>(by) >= 8 * sizeof(T) ? 0 : low<T>(a << low<u32>(by));
}
template <class T, int Flags = 0>
bits shift_right(bits a, bits by) {
    const bits most = 8 * sizeof(T), count = low<u32>(by);
    if constexpr (is_signed<T>()) return put(static_cast<T>(static_cast<s64>(get<T>(a)) >> (count >= most ? most - 1 : count)));
    return count >= most ? 0 : low<T>(a) >> count;
}
inline bits funnel_left(bits lower, bits upper, bits by, bool clamp) {
    const bits count = clamp ? (low<u32>(by) > 32 ? 32 : low<u32>(by)) : by & 31;
    return low<u32>((low<u32>(upper) << 32 | low<u32>(lower)) >> (32 - count));
}
inline bits funnel_right(bits lower, bits upper, bits by, bool clamp) {
    const bits count = clamp ? (low<u32>(by) > 32 ? 32 : low<u32>(by)) : by & 31;
    return low<u32>((low<u32>(upper) << 32 | low<u32>(lower)) >> count);
}
template <class T, int Flags = 0>
bits count_bits(bits a) {
    return static_cast<bits>(__builtin_popcountll(low<bits_of<T>>(a)));
}
template <class T, int Flags = 0>
bits leading_zeros(bits a) {
    const bits x = low<bits_of<T>>(a);
    return x == 0 ? 8 * sizeof(T) : static_cast<bits>(__builtin_clzll(x)) - (64 - 8 * sizeof(T));
}
/// The position of the highest bit that differs from the sign; all ones if there is none.
template <class T, int Flags = 0>
bits highest_bit(bits a) {
    const bits x = is_signed<T>() && get<T>(a) < 0 ? low<bits_of<T>>(~a) : low<bits_of<T>>(a);
    return x == 0 ? 0xffffffffu : 63 - static_cast<bits>(__builtin_clzll(x));
}
template <class T, int Flags = 0>
bits reverse(bits a) {
    bits reversed = 0;
    for (unsigned i = 0; i < 8 * sizeof(T); ++i) reversed |= (a >> i & 1) << (8 * sizeof(T) - 1 - i);
    return reversed;
}
inline bits lop3(bits a, bits b, bits c, bits table) {
    bits made = 0;
    for (int i = 0; i < 8; ++i)
        if ((table >> i & 1) != 0) made |= ((i & 4) != 0 ? a : ~a) & ((i & 2) != 0 ? b : ~b) & ((i & 1) != 0 ? c : ~c);
    return low<u32>(made);
}
inline bits permute(bits a, bits b, bits selectors) {
    const bits all = low<u32>(b) << 32 | low<u32>(a);
    bits made = 0;
    for (int i = 0; i < 4; ++i) {
        const bits selector = selectors >> (4 * i) & 15, byte = all >> (8 * (selector & 7)) & 0xff;
        made |= (selector < 8 ? byte : (byte & 0x80) != 0 ? bits{0xff} : bits{0}) << (8 * i);
    }
    return made;
}
template <class T>
bits extract(bits a, bits from, bits length) {
    const unsigned width = 8 * sizeof(T), start = from & 0xff, count = length & 0xff;
    const bits x = low<bits_of<T>>(a);
    const unsigned top = start + count - 1 < width - 1 ? start + count - 1 : width - 1;  // the field's last bit that exists
    const bool sign = is_signed<T>() && count != 0 && (x >> top & 1) != 0;
    bits field = start < width ? x >> start : 0;
    const unsigned known = start < width ? (count < width - start ? count : width - start) : 0;
    const bits mask = known >= 64 ? ~bits{0} : (bits{1} << known) - 1;
    field &= mask;
    return low<T>(sign ? field | ~mask : field);
}
template <class T>
bits insert(bits field, bits into, bits from, bits length) {
    const unsigned width = 8 * sizeof(T), start = from & 0xff, count = length & 0xff;
    if (start >= width || count == 0) return low<bits_of<T>>(into);
    const bits mask = (count >= 64 ? ~bits{0} : (bits{1} << count) - 1) << start;
    return low<bits_of<T>>((into & ~mask) | (field << start & mask));
}

// ---- conversions ----

template <class To, class From, int Flags>
bits convert(bits a) {
    constexpr bool wide = sizeof(To) == 8 || sizeof(From) == 8;
    if constexpr (is_float<From> && is_float<To>) {
        return result<To, Flags>(operand<From, Flags>(a));
    } else if constexpr (is_float<From>) {
        return put(to_integer<To>(operand<From, Flags>(a), (Flags & rp) == 0 ? Rounding::zero : rounding(Flags), wide));
    } else if constexpr (same<To, f64>) {
        return encode_integer<11, 52>(get<From>(a), rounding(Flags));
    } else if constexpr (same<To, f32>) {
        return encode_integer<8, 23>(get<From>(a), rounding(Flags));
    } else if constexpr (same<To, f16>) {
        return encode_integer<5, 10>(get<From>(a), rounding(Flags));
    } else if constexpr (same<To, bf16>) {
        return encode_integer<8, 7>(get<From>(a), rounding(Flags));
    } else {
        if constexpr ((Flags & sat) != 0) {
            const double x = static_cast<double>(get<From>(a));
            return put(to_integer<To>(x, Rounding::zero, false));
        }
        return low<To>(low<From>(a));
    }
}
/// cvt with .rni, .rzi, .rmi or .rpi: to an integer, or to a float with an integer's value.
template <class To, class From, int Flags>
bits round(bits a) {
    const double x = operand<From, Flags>(a);
    if constexpr (is_float<To>) {
        const Rounding how = rounding(Flags);
        return result<To, Flags & ~rp>(how == Rounding::zero   ? __builtin_trunc(x)
                                       : how == Rounding::down ? __builtin_floor(x)
                                       : how == Rounding::up   ? __builtin_ceil(x)
                                                               : __builtin_nearbyint(x));
    } else {
        return put(to_integer<To>(x, rounding(Flags), sizeof(To) == 8 || sizeof(From) == 8));
    }
}
inline bits to_tf32(bits a) { return round_tf32(get<f32>(a)); }

}  // namespace heddle::emulator::cuda::ptx
