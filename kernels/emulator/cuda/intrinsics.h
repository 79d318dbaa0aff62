// Functions that foreign kernels call under CUDA's names: integers, bits, conversions, cached loads and stores, clocks. The rest
// is in math.h, simd.h, warp.h and atomics.h.
#pragma once

#include "kernels/emulator/cuda/math.h"

#include <cstring>
#include <ctime>

#include "kernels/emulator/cuda/atomics.h"
#include "kernels/emulator/cuda/simd.h"
#include "kernels/emulator/cuda/warp.h"
#include "kernels/emulator/device_calls.h"
#include "kernels/emulator/float_formats.h"
#include "kernels/emulator/foreign.h"
#include "kernels/emulator/include/vector_types.h"
#include "kernels/emulator/interface.h"

#define HEDDLE_PLACE ::heddle::emulator::Place place = ::heddle::emulator::Place::current()

// ---- bits ----

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
inline int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x)); }
inline unsigned long long __brevll(unsigned long long x) {
    x = (x >> 1 & 0x5555555555555555u) | (x & 0x5555555555555555u) << 1;
    x = (x >> 2 & 0x3333333333333333u) | (x & 0x3333333333333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0f0f0f0f0fu) | (x & 0x0f0f0f0f0f0f0f0fu) << 4;
    return __builtin_bswap64(x);
}
inline unsigned __brev(unsigned x) { return static_cast<unsigned>(__brevll(x) >> 32); }
/// Four of the eight bytes of x and y (0 to 3 and 4 to 7): nibble i of the selector names byte i; its top bit asks for the sign.
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
    const unsigned long long bytes = x | static_cast<unsigned long long>(y) << 32;
    unsigned result = 0;
    for (int i = 0; i < 4; ++i) {
        const unsigned nibble = selector >> 4 * i & 15u;
        unsigned byte = static_cast<unsigned>(bytes >> 8 * (nibble & 7u)) & 0xffu;
        if ((nibble & 8u) != 0) byte = (byte & 0x80u) != 0 ? 0xffu : 0u;
        result |= byte << 8 * i;
    }
    return result;
}
/// The position of the offset-th set bit of the mask, from `base` upwards (offset > 0) or downwards; ~0 if there is none.
inline unsigned __fns(unsigned mask, unsigned base, int offset) {
    if (base > 31) return ~0u;
    if (offset == 0) return (mask >> base & 1u) != 0 ? base : ~0u;
    const int step = offset > 0 ? 1 : -1;
    int left = offset > 0 ? offset : -offset;
    for (int at = static_cast<int>(base); at >= 0 && at < 32; at += step)
        if ((mask >> at & 1u) != 0 && --left == 0) return static_cast<unsigned>(at);
    return ~0u;
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    return static_cast<unsigned>((static_cast<unsigned long long>(high) << 32 | low) << (shift & 31u) >> 32);
}
inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
    return static_cast<unsigned>((static_cast<unsigned long long>(high) << 32 | low) << (shift < 32 ? shift : 32u) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return static_cast<unsigned>((static_cast<unsigned long long>(high) << 32 | low) >> (shift & 31u));
}
inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
    return static_cast<unsigned>((static_cast<unsigned long long>(high) << 32 | low) >> (shift < 32 ? shift : 32u));
}

// ---- integers ----

inline int __mulhi(int a, int b) { return static_cast<int>(static_cast<long long>(a) * b >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) { return static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32); }
__extension__ typedef __int128 heddle_int128;
__extension__ typedef unsigned __int128 heddle_uint128;
inline long long __mul64hi(long long a, long long b) { return static_cast<long long>(static_cast<heddle_int128>(a) * b >> 64); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return static_cast<unsigned long long>(static_cast<heddle_uint128>(a) * b >> 64);
}
/// The lower 32 bits of the product of the lower 24 bits.
inline int __mul24(int a, int b) {
    const auto low = [](int x) { return static_cast<int>(static_cast<unsigned>(x) << 8) >> 8; };
    return static_cast<int>(static_cast<unsigned>(low(a)) * static_cast<unsigned>(low(b)));
}
inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffffu) * (b & 0xffffffu); }
inline unsigned __sad(int a, int b, unsigned c) {
    return c + static_cast<unsigned>(a < b ? static_cast<long long>(b) - a : static_cast<long long>(a) - b);
}
inline unsigned __usad(unsigned a, unsigned b, unsigned c) { return c + (a < b ? b - a : a - b); }
inline int __hadd(int a, int b) { return static_cast<int>((static_cast<long long>(a) + b) >> 1); }
inline int __rhadd(int a, int b) { return static_cast<int>((static_cast<long long>(a) + b + 1) >> 1); }
inline unsigned __uhadd(unsigned a, unsigned b) { return static_cast<unsigned>((static_cast<unsigned long long>(a) + b) >> 1); }
inline unsigned __urhadd(unsigned a, unsigned b) {
    return static_cast<unsigned>((static_cast<unsigned long long>(a) + b + 1) >> 1);
}

// ---- the same bits as another type ----

#define HEDDLE_PUN(To, From, name) \
    inline To name(From x) { return heddle::emulator::from_bits<To>(heddle::emulator::to_bits(x)); }
HEDDLE_PUN(int, float, __float_as_int)
HEDDLE_PUN(unsigned, float, __float_as_uint)
HEDDLE_PUN(float, int, __int_as_float)
HEDDLE_PUN(float, unsigned, __uint_as_float)
HEDDLE_PUN(long long, double, __double_as_longlong)
HEDDLE_PUN(double, long long, __longlong_as_double)
#undef HEDDLE_PUN
inline int __double2hiint(double x) { return static_cast<int>(::__double_as_longlong(x) >> 32); }
inline int __double2loint(double x) { return static_cast<int>(::__double_as_longlong(x)); }
inline double __hiloint2double(int high, int low) {
    return heddle::emulator::from_bits<double>(static_cast<std::uint64_t>(static_cast<unsigned>(high)) << 32 |
                                               static_cast<unsigned>(low));
}

// ---- conversions in each rounding mode ----

#define HEDDLE_TO_INTEGERS(suffix, mode)                                                                               \
    inline int __float2int_##suffix(float x) { return heddle::emulator::to_integer<int>(x, mode, false); }             \
    inline unsigned __float2uint_##suffix(float x) { return heddle::emulator::to_integer<unsigned>(x, mode, false); }  \
    inline long long __float2ll_##suffix(float x) { return heddle::emulator::to_integer<long long>(x, mode, true); }   \
    inline unsigned long long __float2ull_##suffix(float x) {                                                          \
        return heddle::emulator::to_integer<unsigned long long>(x, mode, true);                                        \
    }                                                                                                                  \
    inline int __double2int_##suffix(double x) { return heddle::emulator::to_integer<int>(x, mode, true); }            \
    inline unsigned __double2uint_##suffix(double x) { return heddle::emulator::to_integer<unsigned>(x, mode, true); } \
    inline long long __double2ll_##suffix(double x) { return heddle::emulator::to_integer<long long>(x, mode, true); } \
    inline unsigned long long __double2ull_##suffix(double x) {                                                        \
        return heddle::emulator::to_integer<unsigned long long>(x, mode, true);                                        \
    }
#define HEDDLE_TO_FLOAT(From, name, suffix, mode)                                                    \
    inline float __##name##2float_##suffix(From x) {                                                 \
        return heddle::emulator::from_bits<float>(heddle::emulator::encode_integer<8, 23>(x, mode)); \
    }
#define HEDDLE_TO_DOUBLE(From, name, suffix, mode)                                                     \
    inline double __##name##2double_##suffix(From x) {                                                 \
        return heddle::emulator::from_bits<double>(heddle::emulator::encode_integer<11, 52>(x, mode)); \
    }
#define HEDDLE_CONVERSIONS(suffix, mode)                                                     \
    HEDDLE_TO_INTEGERS(suffix, mode)                                                         \
    HEDDLE_TO_FLOAT(int, int, suffix, mode)                                                  \
    HEDDLE_TO_FLOAT(unsigned, uint, suffix, mode)                                            \
    HEDDLE_TO_FLOAT(long long, ll, suffix, mode)                                             \
    HEDDLE_TO_FLOAT(unsigned long long, ull, suffix, mode)                                   \
    HEDDLE_TO_DOUBLE(long long, ll, suffix, mode)                                            \
    HEDDLE_TO_DOUBLE(unsigned long long, ull, suffix, mode)                                  \
    inline float __double2float_##suffix(double x) {                                         \
        return heddle::emulator::from_bits<float>(heddle::emulator::encode<8, 23>(x, mode)); \
    }
HEDDLE_CONVERSIONS(rn, heddle::emulator::Rounding::nearest)
HEDDLE_CONVERSIONS(rz, heddle::emulator::Rounding::zero)
HEDDLE_CONVERSIONS(ru, heddle::emulator::Rounding::up)
HEDDLE_CONVERSIONS(rd, heddle::emulator::Rounding::down)
inline double __int2double_rn(int x) { return x; }
inline double __uint2double_rn(unsigned x) { return x; }
#undef HEDDLE_CONVERSIONS
#undef HEDDLE_TO_DOUBLE
#undef HEDDLE_TO_FLOAT
#undef HEDDLE_TO_INTEGERS

// ---- loads and stores with a cache operator: plain accesses, always inlined so that reports name the caller's line ----

#define HEDDLE_INLINE __attribute__((always_inline)) inline
template <class T>
HEDDLE_INLINE T __ldg(const T* address) {
    return *address;
}
// The empty assembler statement keeps the compiler from taking an earlier value.
#define HEDDLE_LOAD(name)                    \
    template <class T>                       \
    HEDDLE_INLINE T name(const T* address) { \
        asm volatile("" : : : "memory");     \
        return *address;                     \
    }
HEDDLE_LOAD(__ldca)
HEDDLE_LOAD(__ldcg)
HEDDLE_LOAD(__ldcs)
HEDDLE_LOAD(__ldlu)
HEDDLE_LOAD(__ldcv)
#undef HEDDLE_LOAD
#define HEDDLE_STORE(name)                                                                   \
    template <class T>                                                                       \
    HEDDLE_INLINE void name(T* address, typename heddle::emulator::Exactly<T>::type value) { \
        *address = value;                                                                    \
        asm volatile("" : : : "memory");                                                     \
    }
HEDDLE_STORE(__stwb)
HEDDLE_STORE(__stcg)
HEDDLE_STORE(__stcs)
HEDDLE_STORE(__stwt)
#undef HEDDLE_STORE
#undef HEDDLE_INLINE

// ---- address spaces ----

inline unsigned __isGlobal(const void* p) { return heddle::emulator::space_of(p) == heddle::emulator::Space::global; }
inline unsigned __isShared(const void* p) { return heddle::emulator::space_of(p) == heddle::emulator::Space::shared; }
inline unsigned __isLocal(const void* p) { return heddle::emulator::space_of(p) == heddle::emulator::Space::local; }
inline unsigned __isConstant(const void* p) { return heddle::emulator::space_of(p) == heddle::emulator::Space::constant; }
inline unsigned __isGridConstant(const void* p) { return heddle::emulator::space_of(p) == heddle::emulator::Space::generic; }
inline std::size_t __cvta_generic_to_shared(const void* p) { return heddle::emulator::shared_offset(p); }
inline void* __cvta_shared_to_generic(std::size_t offset) {
    return heddle::emulator::shared_address(static_cast<std::uint32_t>(offset));
}
inline std::size_t __cvta_generic_to_global(const void* p) { return reinterpret_cast<std::size_t>(p); }
inline void* __cvta_global_to_generic(std::size_t p) { return reinterpret_cast<void*>(p); }
inline std::size_t __cvta_generic_to_local(const void* p) { return reinterpret_cast<std::size_t>(p); }
inline void* __cvta_local_to_generic(std::size_t p) { return reinterpret_cast<void*>(p); }
inline std::size_t __cvta_generic_to_constant(const void* p) { return reinterpret_cast<std::size_t>(p); }
inline void* __cvta_constant_to_generic(std::size_t p) { return reinterpret_cast<void*>(p); }

// ---- clocks, traps, hints ----

/// Nanoseconds stand for cycles.
inline long long clock64() { return static_cast<long long>(heddle::emulator::clock_cycles()); }
inline void __nanosleep(unsigned, HEDDLE_PLACE) { heddle::emulator::step_aside(place); }
[[noreturn]] inline void __trap(HEDDLE_PLACE) { heddle::emulator::trap(place); }
[[noreturn]] inline void __brkpt(HEDDLE_PLACE) { heddle::emulator::trap(place); }
#define __prof_trigger(counter) ((void)(counter))
#define __pm0() ((void)0)
#define __pm1() ((void)0)
#define __pm2() ((void)0)
#define __pm3() ((void)0)
inline unsigned __nv_bswap32(unsigned x) { return __builtin_bswap32(x); }
inline unsigned long long __nv_bswap64(unsigned long long x) { return __builtin_bswap64(x); }
inline unsigned short __nv_bswap16(unsigned short x) { return __builtin_bswap16(x); }

#if !defined(__clang__)
#define __builtin_assume(condition) ((condition) ? (void)0 : __builtin_unreachable())
#endif
#define __assume(condition) __builtin_assume(condition)
#define __nv_associate_access_property(pointer, property) (pointer)

#undef HEDDLE_PLACE
