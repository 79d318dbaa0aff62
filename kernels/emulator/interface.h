// Functions that kernels call: barriers, collectives, copies, atomics and shared memory of the emulator, each with a last
// parameter for the caller's source location. kernel.h puts CUDA's names on top of it for Heddle's kernels, cuda/prelude.h for
// anybody's.
//
// Every file of foreign CUDA C++ reads this header, in C++17 too: it includes nothing that takes long to compile.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/emulator/include/vector_types.h"
#include "kernels/emulator/indices.h"
#include "kernels/emulator/place.h"

namespace heddle::emulator {

/// T where it shall not be deduced.
template <class T>
struct Exactly {
    using type = T;
};

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
/// 1, 2 or 4 matrices, whose rows the first 8, 16 or 32 lanes name.
void ldmatrix(std::uint32_t* registers, int matrices, const void* row, bool transposed, Place place);
void mma_bf16(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2], Place place = Place::current());
void mma_f16(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2], Place place = Place::current());
void mma_tf32(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2], Place place = Place::current());
/// The nearest value with 10 mantissa bits, ties away from zero.
std::uint32_t round_tf32(float x);

/// device::require failed.
[[noreturn]] void failed_requirement(const char* message, Place place);

enum class Atomic {
    add,
    minimum,
    maximum,
    exchange,
    compare_exchange,
    bit_or,
    bit_and,
    subtract,
    bit_xor,
    increment,
    decrement,
    load,
    store
};
/// A relaxed atomic on an integer of 4 or 8 bytes; returns the old value.
std::uint64_t atomic(Atomic kind, void* address, std::size_t bytes, bool is_signed, std::uint64_t value, std::uint64_t compare,
                     Place place);

template <class T>
std::uint64_t to_bits(T value) {
    static_assert(sizeof(T) <= 8 && __is_trivially_copyable(T));
    std::uint64_t bits = 0;
    __builtin_memcpy(&bits, &value, sizeof value);
    return bits;
}
template <class T>
T from_bits(std::uint64_t bits) {
    T value;
    __builtin_memcpy(static_cast<void*>(&value), &bits, sizeof value);
    return value;
}

}  // namespace heddle::emulator
