// The emulator's interface for kernel files: CUDA's keywords and built-ins for other compilers, and the calls that the device
// layer (kernels/device) uses. Declared like CUDA's, each with a last parameter for the caller's source location.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/emulator/include/vector_types.h"
#include "kernels/emulator/place.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__

namespace heddle::emulator {

/// The indices of the running thread.
struct Indices {
    uint3 thread, block;
    dim3 block_size, grid_size;
};
extern thread_local constinit Indices indices;

/// `bytes` of the block's arena at `start`: the part-th piece that a SharedArena takes. Red zones separate the pieces.
void* shared_memory(int start, int bytes, int part, Place place = Place::current());

void load_vector(void* to, const void* from, std::size_t bytes, Place place);
void store_vector(void* to, const void* from, std::size_t bytes, Place place);

void copy_async(void* to, const void* from, int bytes, int valid, Place place);
void copy_commit();
/// Waits until all but the last `pending` groups of this thread have landed.
void copy_wait(int pending, Place place);

void block_barrier(Place place);
/// __syncthreads_count and its variants: the number of threads with a nonzero predicate.
int block_barrier_count(int predicate, Place place);
void named_barrier(int id, int threads, Place place = Place::current());
void cluster_barrier(Place place = Place::current());
void grid_barrier(Place place = Place::current());
void warp_barrier(unsigned mask, Place place);
/// memory fence: scope 0 the block, 1 the device.
void fence(int scope, Place place);

enum class Shuffle { index, exclusive_or, down, up };
/// `bits` of the lane selected by `lane` (an index, a mask or a distance) within groups of `width` lanes.
std::uint64_t shuffle(Shuffle kind, unsigned mask, std::uint64_t bits, int lane, int width, Place place);
/// Bit l: the predicate of lane l of the mask.
unsigned ballot(unsigned mask, int predicate, Place place);

void ldmatrix_x4(std::uint32_t (&registers)[4], const void* row, bool transposed, Place place = Place::current());
void mma_bf16(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2], Place place = Place::current());
void mma_tf32(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2], Place place = Place::current());
/// The nearest value with 10 mantissa bits, ties away from zero.
std::uint32_t round_tf32(float x);

/// device::require failed.
[[noreturn]] void failed_requirement(const char* message, Place place);

enum class Atomic { add, minimum, maximum, exchange, compare_exchange, bit_or, bit_and };
/// A relaxed atomic on an integer of 4 or 8 bytes; returns the old value.
std::uint64_t atomic(Atomic kind, void* address, std::size_t bytes, bool is_signed, std::uint64_t value, std::uint64_t compare,
                     Place place);

template <class T>
std::uint64_t to_bits(T value) {
    static_assert(sizeof(T) <= 8 && std::is_trivially_copyable_v<T>);
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
}
template <class T>
T from_bits(std::uint64_t bits) {
    T value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

}  // namespace heddle::emulator

#define threadIdx (::heddle::emulator::indices.thread)
#define blockIdx (::heddle::emulator::indices.block)
#define blockDim (::heddle::emulator::indices.block_size)
#define gridDim (::heddle::emulator::indices.grid_size)

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
T atomicAdd(T* address, std::type_identity_t<T> value, HEDDLE_PLACE) {
    static_assert(std::is_integral_v<T>, "a sum of floating-point numbers by atomics differs from run to run");
    using namespace heddle::emulator;
    return from_bits<T>(atomic(Atomic::add, address, sizeof(T), std::is_signed_v<T>, to_bits(value), 0, place));
}
template <class T>
T atomicMin(T* address, std::type_identity_t<T> value, HEDDLE_PLACE) {
    using namespace heddle::emulator;
    return from_bits<T>(atomic(Atomic::minimum, address, sizeof(T), std::is_signed_v<T>, to_bits(value), 0, place));
}
template <class T>
T atomicMax(T* address, std::type_identity_t<T> value, HEDDLE_PLACE) {
    using namespace heddle::emulator;
    return from_bits<T>(atomic(Atomic::maximum, address, sizeof(T), std::is_signed_v<T>, to_bits(value), 0, place));
}
template <class T>
T atomicExch(T* address, std::type_identity_t<T> value, HEDDLE_PLACE) {
    using namespace heddle::emulator;
    return from_bits<T>(atomic(Atomic::exchange, address, sizeof(T), std::is_signed_v<T>, to_bits(value), 0, place));
}
template <class T>
T atomicCAS(T* address, std::type_identity_t<T> compare, std::type_identity_t<T> value, HEDDLE_PLACE) {
    using namespace heddle::emulator;
    return from_bits<T>(
        atomic(Atomic::compare_exchange, address, sizeof(T), std::is_signed_v<T>, to_bits(value), to_bits(compare), place));
}
template <class T>
T atomicOr(T* address, std::type_identity_t<T> value, HEDDLE_PLACE) {
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
