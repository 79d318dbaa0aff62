// CUDA's functions on two or four small integers in one register: __vadd4, __vabsdiffu4, __dp4a and their family.
#pragma once

namespace heddle::emulator::cuda {

/// The i-th of the parts of `bits` bits, as a signed or unsigned number.
template <int bits, bool is_signed>
constexpr int part(unsigned x, int i) {
    const unsigned low = x >> bits * i & ((1u << bits) - 1);
    if constexpr (is_signed)
        return static_cast<int>(low << (32 - bits)) >> (32 - bits);
    else
        return static_cast<int>(low);
}
/// combine(a, b) of each part; only its lower bits are kept.
template <int bits, bool is_signed, class Combine>
constexpr unsigned by_parts(unsigned a, unsigned b, Combine combine) {
    unsigned result = 0;
    for (int i = 0; i < 32 / bits; ++i)
        result |= (static_cast<unsigned>(combine(part<bits, is_signed>(a, i), part<bits, is_signed>(b, i))) & ((1u << bits) - 1))
                  << bits * i;
    return result;
}
template <int bits, bool is_signed>
constexpr int saturated(int x) {
    constexpr int most = is_signed ? (1 << (bits - 1)) - 1 : (1 << bits) - 1, least = is_signed ? -(1 << (bits - 1)) : 0;
    return x < least ? least : x > most ? most : x;
}
template <int bits, bool is_signed>
constexpr unsigned sum_of_differences(unsigned a, unsigned b) {
    unsigned sum = 0;
    for (int i = 0; i < 32 / bits; ++i) {
        const int d = part<bits, is_signed>(a, i) - part<bits, is_signed>(b, i);
        sum += static_cast<unsigned>(d < 0 ? -d : d);
    }
    return sum;
}

}  // namespace heddle::emulator::cuda

#define HEDDLE_BINARY(name, n, is_signed, formula)                                                                          \
    inline unsigned name##n(unsigned x, unsigned y) {                                                                       \
        constexpr int bits = 32 / n;                                                                                        \
        (void)bits;                                                                                                         \
        return heddle::emulator::cuda::by_parts<32 / n, is_signed>(x, y,                                                    \
                                                                   [](int a, int b) { return static_cast<int>(formula); }); \
    }
#define HEDDLE_UNARY(name, n, formula)                                                                                     \
    inline unsigned name##n(unsigned x) {                                                                                  \
        constexpr int bits = 32 / n;                                                                                       \
        (void)bits;                                                                                                        \
        return heddle::emulator::cuda::by_parts<32 / n, true>(x, x, [](int a, int) { return static_cast<int>(formula); }); \
    }
// `set` is 0 or 1, `cmp` all bits of a part.
#define HEDDLE_COMPARE(suffix, n, is_signed, operation)           \
    HEDDLE_BINARY(__vcmp##suffix, n, is_signed, -(a operation b)) \
    HEDDLE_BINARY(__vset##suffix, n, is_signed, a operation b)
#define HEDDLE_SIMD(n)                                                                         \
    HEDDLE_BINARY(__vadd, n, false, a + b)                                                     \
    HEDDLE_BINARY(__vaddss, n, true, (heddle::emulator::cuda::saturated<bits, true>(a + b)))   \
    HEDDLE_BINARY(__vaddus, n, false, (heddle::emulator::cuda::saturated<bits, false>(a + b))) \
    HEDDLE_BINARY(__vsub, n, false, a - b)                                                     \
    HEDDLE_BINARY(__vsubss, n, true, (heddle::emulator::cuda::saturated<bits, true>(a - b)))   \
    HEDDLE_BINARY(__vsubus, n, false, (heddle::emulator::cuda::saturated<bits, false>(a - b))) \
    HEDDLE_BINARY(__vabsdiffs, n, true, a < b ? b - a : a - b)                                 \
    HEDDLE_BINARY(__vabsdiffu, n, false, a < b ? b - a : a - b)                                \
    HEDDLE_BINARY(__vavgs, n, true, (a + b + (a + b >= 0)) >> 1)                               \
    HEDDLE_BINARY(__vavgu, n, false, (a + b + 1) >> 1)                                         \
    HEDDLE_BINARY(__vhaddu, n, false, (a + b) >> 1)                                            \
    HEDDLE_BINARY(__vmaxs, n, true, a < b ? b : a)                                             \
    HEDDLE_BINARY(__vmaxu, n, false, a < b ? b : a)                                            \
    HEDDLE_BINARY(__vmins, n, true, b < a ? b : a)                                             \
    HEDDLE_BINARY(__vminu, n, false, b < a ? b : a)                                            \
    HEDDLE_UNARY(__vabs, n, a < 0 ? -a : a)                                                    \
    HEDDLE_UNARY(__vabsss, n, (heddle::emulator::cuda::saturated<bits, true>(a < 0 ? -a : a))) \
    HEDDLE_UNARY(__vneg, n, -a)                                                                \
    HEDDLE_UNARY(__vnegss, n, (heddle::emulator::cuda::saturated<bits, true>(-a)))             \
    HEDDLE_COMPARE(eq, n, false, ==)                                                           \
    HEDDLE_COMPARE(ne, n, false, !=)                                                           \
    HEDDLE_COMPARE(ges, n, true, >=)                                                           \
    HEDDLE_COMPARE(geu, n, false, >=)                                                          \
    HEDDLE_COMPARE(gts, n, true, >)                                                            \
    HEDDLE_COMPARE(gtu, n, false, >)                                                           \
    HEDDLE_COMPARE(les, n, true, <=)                                                           \
    HEDDLE_COMPARE(leu, n, false, <=)                                                          \
    HEDDLE_COMPARE(lts, n, true, <)                                                            \
    HEDDLE_COMPARE(ltu, n, false, <)                                                           \
    inline unsigned __vsads##n(unsigned x, unsigned y) {                                       \
        return heddle::emulator::cuda::sum_of_differences<32 / n, true>(x, y);                 \
    }                                                                                          \
    inline unsigned __vsadu##n(unsigned x, unsigned y) { return heddle::emulator::cuda::sum_of_differences<32 / n, false>(x, y); }
HEDDLE_SIMD(2)
HEDDLE_SIMD(4)
#undef HEDDLE_SIMD
#undef HEDDLE_COMPARE
#undef HEDDLE_UNARY
#undef HEDDLE_BINARY

// The largest and smallest of three, of a sum and a third, and with a bound of 0.
inline int __vimax3_s32(int a, int b, int c) { return a < b ? (b < c ? c : b) : (a < c ? c : a); }
inline int __vimin3_s32(int a, int b, int c) { return b < a ? (c < b ? c : b) : (c < a ? c : a); }
inline unsigned __vimax3_u32(unsigned a, unsigned b, unsigned c) { return a < b ? (b < c ? c : b) : (a < c ? c : a); }
inline unsigned __vimin3_u32(unsigned a, unsigned b, unsigned c) { return b < a ? (c < b ? c : b) : (c < a ? c : a); }
inline int __vimax_s32_relu(int a, int b) { return ::__vimax3_s32(a, b, 0); }
inline int __vimin_s32_relu(int a, int b) { return ::__vimax3_s32(b < a ? b : a, 0, 0); }
inline int __viaddmax_s32(int a, int b, int c) {
    const int sum = static_cast<int>(static_cast<unsigned>(a) + static_cast<unsigned>(b));
    return sum < c ? c : sum;
}
inline int __viaddmin_s32(int a, int b, int c) {
    const int sum = static_cast<int>(static_cast<unsigned>(a) + static_cast<unsigned>(b));
    return c < sum ? c : sum;
}

// Products of the parts, added to c.
inline int __dp4a(int a, int b, int c) {
    for (int i = 0; i < 4; ++i)
        c += heddle::emulator::cuda::part<8, true>(static_cast<unsigned>(a), i) *
             heddle::emulator::cuda::part<8, true>(static_cast<unsigned>(b), i);
    return c;
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
    for (int i = 0; i < 4; ++i) c += (a >> 8 * i & 0xffu) * (b >> 8 * i & 0xffu);
    return c;
}
inline int __dp2a_lo(int a, int b, int c) {
    for (int i = 0; i < 2; ++i)
        c += heddle::emulator::cuda::part<16, true>(static_cast<unsigned>(a), i) *
             heddle::emulator::cuda::part<8, true>(static_cast<unsigned>(b), i);
    return c;
}
inline int __dp2a_hi(int a, int b, int c) { return ::__dp2a_lo(a, b >> 16, c); }
inline unsigned __dp2a_lo(unsigned a, unsigned b, unsigned c) {
    for (int i = 0; i < 2; ++i) c += (a >> 16 * i & 0xffffu) * (b >> 8 * i & 0xffu);
    return c;
}
inline unsigned __dp2a_hi(unsigned a, unsigned b, unsigned c) { return ::__dp2a_lo(a, b >> 16, c); }
