// The meaning of PTX's instructions, for inline PTX that frontend/ptx.h has translated. A register is a number of 64 bits, of
// which an instruction reads as many as its type has; what it writes is extended with zeros, or with the sign of a signed type.
//
// Approximate instructions (rcp.approx, ex2.approx, ...) are the exact functions, rounded once. Memory is reached through the
// calls of interface.h, which check each access and know the line of the asm statement.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/emulator/cuda/ptx_integers.h"
#include "kernels/emulator/device_calls.h"
#include "kernels/emulator/foreign.h"
#include "kernels/emulator/indices.h"
#include "kernels/emulator/interface.h"

namespace heddle::emulator::cuda::ptx {

// ---- operands of the asm statement ----

template <char Constraint, class T>
constexpr bool fits() {
    constexpr bool integer = (static_cast<T>(0.5) == static_cast<T>(0));
    switch (Constraint) {
        case 'h': return sizeof(T) == 2;
        case 'r': return sizeof(T) <= 4;
        case 'l': return sizeof(T) == 8;
        case 'f': return sizeof(T) == 4 && !integer;
        case 'd': return sizeof(T) == 8 && !integer;
        default: return integer;
    }
}
/// The register of an input.
template <char Constraint, class T>
bits in(const T& value) {
    if constexpr (__is_enum(T) || __is_class(T)) {
        static_assert(sizeof(T) <= 8, "an operand of inline PTX must be a number or a pointer");
        return to_bits(value);
    } else {
        static_assert(fits<Constraint, T>(),
                      "the size of an operand of inline PTX does not fit its constraint (\"h\" 2 bytes, \"r\" 4, "
                      "\"l\" 8, \"f\" float, \"d\" double, \"n\" an integer)");
        return put(value);
    }
}
template <char Constraint, class T>
bits in(T* pointer) {
    static_assert(Constraint == 'l', "a pointer is an operand \"l\" of inline PTX");
    return reinterpret_cast<std::uintptr_t>(pointer);
}
template <class T>
void out(T& variable, bits value) {
    static_assert(sizeof(T) <= 8, "an operand of inline PTX must be a number or a pointer");
    variable = from_bits<T>(value);
}

// ---- memory ----

using ::heddle::emulator::Atomic;
using ::heddle::emulator::Reduction;
using ::heddle::emulator::Space;

inline void* pointer(bits address) { return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)); }
inline void* shared(bits address) { return shared_address(static_cast<u32>(address)); }
inline bits to_shared(bits address) { return shared_offset(pointer(address)); }
inline bits from_shared(bits address) { return reinterpret_cast<std::uintptr_t>(shared(address)); }
inline bits is_in_space(Space space, bits address) { return space_of(pointer(address)) == space; }

inline constexpr int plain = 0, relaxed = 1, acquires = 3, releases = 5;  // how an access is ordered; 1: it is atomic
inline void fence(int scope, Place place = Place::current()) { ::heddle::emulator::fence(scope, place); }

template <class T, int N>
void load(const void* from, bits* to, int order, Place place = Place::current()) {
    T value[N];
    if ((order & relaxed) == 0) {
        load_vector(value, from, sizeof value, place);
    } else {
        for (int i = 0; i < N; ++i)
            value[i] = from_bits<T>(::heddle::emulator::atomic(
                Atomic::load, number_of<T>(), const_cast<T*>(static_cast<const T*>(from) + i), sizeof(T), 0, 0, place));
        if ((order & acquires) == acquires) ::heddle::emulator::fence(1, place);
    }
    for (int i = 0; i < N; ++i) to[i] = put(value[i]);
}
template <class T, int N>
void store(void* to, const bits* from, int order, Place place = Place::current()) {
    T value[N];
    for (int i = 0; i < N; ++i) value[i] = from_bits<T>(from[i]);
    if ((order & relaxed) == 0) return store_vector(to, value, sizeof value, place);
    if ((order & releases) == releases) ::heddle::emulator::fence(1, place);
    for (int i = 0; i < N; ++i)
        ::heddle::emulator::atomic(Atomic::store, number_of<T>(), static_cast<T*>(to) + i, sizeof(T), low<bits_of<T>>(from[i]), 0,
                                   place);
}
template <class T>
bits atomic(Atomic kind, int order, void* address, bits value, bits compare, Place place = Place::current()) {
    if ((order & releases) == releases) ::heddle::emulator::fence(1, place);
    const bits old = ::heddle::emulator::atomic(kind, number_of<T>(), address, sizeof(T), low<bits_of<T>>(value),
                                                low<bits_of<T>>(compare), place);
    if ((order & acquires) == acquires) ::heddle::emulator::fence(1, place);
    return put(from_bits<T>(old));
}

inline void copy(void* to, const void* from, bits size, bits valid, Place place = Place::current()) {
    copy_async(to, from, static_cast<int>(size), static_cast<int>(valid), place);
}
inline void wait_copies(bits pending, Place place = Place::current()) { copy_wait(static_cast<int>(pending), place); }
using ::heddle::emulator::copy_commit;

// ---- threads ----

inline const uint3& thread_index() { return threadIdx; }
inline const uint3& block_index() { return blockIdx; }
inline const dim3& block_size() { return blockDim; }
inline const dim3& grid_size() { return gridDim; }
inline bits thread_in_block() { return threadIdx.x + blockDim.x * (threadIdx.y + static_cast<bits>(blockDim.y) * threadIdx.z); }
inline bits threads_of_block() { return static_cast<bits>(blockDim.x) * blockDim.y * blockDim.z; }
inline bits lane() { return thread_in_block() % 32; }
inline bits warp() { return thread_in_block() / 32; }
inline bits warps() { return (threads_of_block() + 31) / 32; }
/// Which of the emulated chip's multiprocessors the block counts as being on, and their number.
bits multiprocessor();
bits multiprocessors();
using ::heddle::emulator::clock_cycles;
inline void pause(Place place = Place::current()) { step_aside(place); }
inline void trap(Place place = Place::current()) { ::heddle::emulator::trap(place); }

inline void warp_barrier(bits mask, Place place = Place::current()) {
    ::heddle::emulator::warp_barrier(static_cast<u32>(mask), place);
}
inline void barrier(bits id, Place place = Place::current()) {
    if (id == 0) return block_barrier(place);
    named_barrier(static_cast<int>(id), static_cast<int>((threads_of_block() + 31) / 32 * 32), place);
}
inline void barrier(bits id, bits threads, Place place = Place::current()) {
    if (id == 0 && threads == threads_of_block()) return block_barrier(place);
    named_barrier(static_cast<int>(id), static_cast<int>(threads), place);
}
inline bits barrier_count(bits, bits predicate, Place place = Place::current()) {
    return static_cast<bits>(block_barrier_count((predicate & 1) != 0, place));
}
inline bits barrier_any(bits, bits predicate, Place place = Place::current()) {
    return block_barrier_count((predicate & 1) != 0, place) != 0;
}
inline bits barrier_all(bits, bits predicate, Place place = Place::current()) {
    return block_barrier_count((predicate & 1) == 0, place) == 0;
}

enum class Mode { up, down, bfly, idx };
/// shfl.sync; `inside`: whether the source lane lay in the lane's segment.
inline bits exchange(Mode mode, bits value, bits distance, bits clamp, bits mask, bits& inside, Place place = Place::current()) {
    const int width = 32 - static_cast<int>(clamp >> 8 & 31), own = static_cast<int>(lane()) % width,
              by = static_cast<int>(distance & 31);
    const int source = mode == Mode::up ? own - by : mode == Mode::down ? own + by : mode == Mode::bfly ? own ^ by : by % width;
    inside = source >= 0 && source < width;
    const Shuffle kind = mode == Mode::up     ? Shuffle::up
                         : mode == Mode::down ? Shuffle::down
                         : mode == Mode::bfly ? Shuffle::exclusive_or
                                              : Shuffle::index;
    return low<u32>(shuffle(kind, static_cast<unsigned>(mask), low<u32>(value), by, width, place));
}
inline bits vote_ballot(bits predicate, bits mask, Place place = Place::current()) {
    return ballot(static_cast<unsigned>(mask), static_cast<int>(predicate & 1), place);
}
inline bits vote_any(bits predicate, bits mask, Place place = Place::current()) {
    return vote_ballot(predicate, mask, place) != 0;
}
inline bits vote_all(bits predicate, bits mask, Place place = Place::current()) {
    return vote_ballot(predicate ^ 1, mask, place) == 0;
}
inline bits vote_uniform(bits predicate, bits mask, Place place = Place::current()) {
    const bits all = vote_ballot(predicate, mask, place);
    return all == 0 || all == low<u32>(mask);
}
inline bits match(bits value, bits mask, bool all, Place place = Place::current()) {
    return ::heddle::emulator::match(static_cast<unsigned>(mask), value, all, place);
}
inline bits active_lanes(Place place = Place::current()) { return ::heddle::emulator::active_lanes(place); }
template <class T>
bits reduce(Reduction kind, bits value, bits mask, Place place = Place::current()) {
    return put(static_cast<T>(
        ::heddle::emulator::reduce(kind, is_signed<T>(), static_cast<unsigned>(mask), static_cast<u32>(value), place)));
}
inline bits first_lane(bits mask) { return static_cast<bits>(__builtin_ctzll(low<u32>(mask) | bits{1} << 32)); }

// ---- tensor cores ----

inline void load_matrix(u32* to, int matrices, const void* row, bool transposed, Place place = Place::current()) {
    ldmatrix(to, matrices, row, transposed, place);
}
using Product = void (*)(float (&)[4], const u32 (&)[4], const u32 (&)[2], Place);
/// D = A B + C; operands with fewer registers than the product's are filled with zeros. Two registers of a sum are halves.
template <Product Multiply, std::size_t Sums, std::size_t As, std::size_t Bs>
void product(u32 (&sum)[Sums], const u32 (&a)[As], const u32 (&b)[Bs], Place place = Place::current()) {
    u32 left[4] = {}, right[2] = {};
    for (std::size_t i = 0; i < As; ++i) left[i] = a[i];
    for (std::size_t i = 0; i < Bs; ++i) right[i] = b[i];
    constexpr bool halves = Sums == 2;
    float d[4];
    for (int i = 0; i < 4; ++i)
        d[i] = halves ? half_to_float(static_cast<u16>(sum[i / 2] >> (16 * (i % 2)))) : from_bits<float>(sum[halves ? 0 : i]);
    Multiply(d, left, right, place);
    for (int i = 0; i < static_cast<int>(Sums); ++i)
        sum[i] = halves ? float_to_half(d[2 * i % 4]) | static_cast<u32>(float_to_half(d[(2 * i + 1) % 4])) << 16
                        : static_cast<u32>(to_bits(d[i]));
}
using ::heddle::emulator::mma_bf16;
using ::heddle::emulator::mma_f16;
using ::heddle::emulator::mma_tf32;

}  // namespace heddle::emulator::cuda::ptx
