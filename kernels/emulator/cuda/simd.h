// CUDA's functions of three integers, and on two or four small ones in one register: __vimax3_s32, __dp4a and their families.
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

}  // namespace heddle::emulator::cuda

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
