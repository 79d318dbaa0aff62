// The emulator's interface for Heddle's kernel files: CUDA's keywords and built-ins for other compilers, strict where CUDA allows
// what differs from run to run. What the device layer (kernels/device) calls beside them is in interface.h.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/emulator/interface.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__

// CUDA's functions, under their own names.
#define HEDDLE_PLACE ::heddle::emulator::Place place = ::heddle::emulator::Place::current()

inline void __syncthreads(HEDDLE_PLACE) { heddle::emulator::block_barrier(place); }
inline int __syncthreads_count(int predicate, HEDDLE_PLACE) { return heddle::emulator::block_barrier_count(predicate, place); }
inline int __syncthreads_or(int predicate, HEDDLE_PLACE) { return heddle::emulator::block_barrier_count(predicate, place) != 0; }
inline int __syncthreads_and(int predicate, HEDDLE_PLACE) {
    return heddle::emulator::block_barrier_count(predicate == 0, place) == 0;
}
inline void __syncwarp(unsigned mask = 0xffffffffu, HEDDLE_PLACE) { heddle::emulator::warp_barrier(mask, place); }
inline void __threadfence(HEDDLE_PLACE) { heddle::emulator::fence(1, place); }
inline void __threadfence_block(HEDDLE_PLACE) { heddle::emulator::fence(0, place); }

template <class T>
T __shfl_sync(unsigned mask, T value, int lane, int width = 32, HEDDLE_PLACE) {
    using namespace heddle::emulator;
    return from_bits<T>(shuffle(Shuffle::index, mask, to_bits(value), lane, width, place));
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32, HEDDLE_PLACE) {
    using namespace heddle::emulator;
    return from_bits<T>(shuffle(Shuffle::exclusive_or, mask, to_bits(value), bits, width, place));
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned distance, int width = 32, HEDDLE_PLACE) {
    using namespace heddle::emulator;
    return from_bits<T>(shuffle(Shuffle::down, mask, to_bits(value), static_cast<int>(distance), width, place));
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned distance, int width = 32, HEDDLE_PLACE) {
    using namespace heddle::emulator;
    return from_bits<T>(shuffle(Shuffle::up, mask, to_bits(value), static_cast<int>(distance), width, place));
}
inline unsigned __ballot_sync(unsigned mask, int predicate, HEDDLE_PLACE) {
    return heddle::emulator::ballot(mask, predicate, place);
}
inline int __any_sync(unsigned mask, int predicate, HEDDLE_PLACE) {
    return heddle::emulator::ballot(mask, predicate, place) != 0;
}
inline int __all_sync(unsigned mask, int predicate, HEDDLE_PLACE) {
    return heddle::emulator::ballot(mask, predicate == 0, place) == 0;
}

template <class T>
T atomicAdd(T* address, typename heddle::emulator::Exactly<T>::type value, HEDDLE_PLACE) {
    static_assert(std::is_integral_v<T>, "a sum of floating-point numbers by atomics differs from run to run");
    using namespace heddle::emulator;
    return from_bits<T>(atomic(Atomic::add, address, sizeof(T), std::is_signed_v<T>, to_bits(value), 0, place));
}
template <class T>
T atomicMin(T* address, typename heddle::emulator::Exactly<T>::type value, HEDDLE_PLACE) {
    using namespace heddle::emulator;
    return from_bits<T>(atomic(Atomic::minimum, address, sizeof(T), std::is_signed_v<T>, to_bits(value), 0, place));
}
template <class T>
T atomicMax(T* address, typename heddle::emulator::Exactly<T>::type value, HEDDLE_PLACE) {
    using namespace heddle::emulator;
    return from_bits<T>(atomic(Atomic::maximum, address, sizeof(T), std::is_signed_v<T>, to_bits(value), 0, place));
}
template <class T>
T atomicExch(T* address, typename heddle::emulator::Exactly<T>::type value, HEDDLE_PLACE) {
    using namespace heddle::emulator;
    return from_bits<T>(atomic(Atomic::exchange, address, sizeof(T), std::is_signed_v<T>, to_bits(value), 0, place));
}
template <class T>
T atomicCAS(T* address, typename heddle::emulator::Exactly<T>::type compare, typename heddle::emulator::Exactly<T>::type value,
            HEDDLE_PLACE) {
    using namespace heddle::emulator;
    return from_bits<T>(
        atomic(Atomic::compare_exchange, address, sizeof(T), std::is_signed_v<T>, to_bits(value), to_bits(compare), place));
}
template <class T>
T atomicOr(T* address, typename heddle::emulator::Exactly<T>::type value, HEDDLE_PLACE) {
    using namespace heddle::emulator;
    return from_bits<T>(atomic(Atomic::bit_or, address, sizeof(T), std::is_signed_v<T>, to_bits(value), 0, place));
}
#undef HEDDLE_PLACE

// Arithmetic. The approximate intrinsics are the exact functions here.
inline float __expf(float x) { return std::exp(x); }
inline float __logf(float x) { return std::log(x); }
inline float __fdividef(float a, float b) { return a / b; }
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
inline unsigned __float_as_uint(float x) { return heddle::emulator::from_bits<unsigned>(heddle::emulator::to_bits(x)); }
inline float __uint_as_float(unsigned x) { return heddle::emulator::from_bits<float>(x); }
inline double __longlong_as_double(long long x) { return heddle::emulator::from_bits<double>(heddle::emulator::to_bits(x)); }
inline long long __double_as_longlong(double x) { return heddle::emulator::from_bits<long long>(heddle::emulator::to_bits(x)); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __ffs(unsigned x) { return __builtin_ffs(static_cast<int>(x)); }
inline int __clz(unsigned x) { return x == 0 ? 32 : __builtin_clz(x); }
// Only for integers of one type: CUDA's overloads for two types have their own conversion rules, and those for floating point
// drop a NaN.
template <class A, class B>
constexpr A min(A a, B b) {
    static_assert(std::is_integral_v<A> && std::is_same_v<A, B>,
                  "min and max take integers of one type; for floats use fminf and fmaxf, or larger(), which keeps a NaN");
    return b < a ? b : a;
}
template <class A, class B>
constexpr A max(A a, B b) {
    static_assert(std::is_integral_v<A> && std::is_same_v<A, B>,
                  "min and max take integers of one type; for floats use fminf and fmaxf, or larger(), which keeps a NaN");
    return a < b ? b : a;
}
