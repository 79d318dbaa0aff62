// One pass over arrays of n elements: thread i of the grid takes the N neighbouring elements from N i on with one access, and the
// first threads take one each of the n % N elements that are left.
//
//     template <class T, int N>
//     __global__ void negate_kernel(const T* x, T* y, std::int64_t n) {        x, y [n]
//         sweep<N>(n, [&]<int M>(Width<M>, std::int64_t at) {
//             Vector<T, M> values = load_vector<M>(x + at);
//             ...
//             store_vector(y + at, values);
//         });
//     }
//     launch(sweep_config(n, N), negate_kernel<T, N>, x, y, n);
//
// A thread does one thing and ends: thousands of blocks of 256 threads keep enough loads under way to fill the memory's pipes,
// without a loop.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "kernels/device/launch.h"
#include "kernels/device/vector.h"

namespace heddle::device {

inline constexpr int kSweepBlock = 256;

/// A number of elements, as a value.
template <int N>
struct Width {};

/// Calls body(Width<M>(), at) for the elements [at, at + M) of this thread, M being N or 1.
template <int N, class Body>
__device__ __forceinline__ void sweep(std::int64_t n, Body body) {
    const std::int64_t thread = std::int64_t{blockIdx.x} * kSweepBlock + threadIdx.x;
    if (thread < n / N) body(Width<N>(), thread * N);
    if constexpr (N > 1) {
        if (thread < n % N) body(Width<1>(), n - n % N + thread);
    }
}

/// The launch of a kernel that sweeps over n elements, `width` at a time.
inline LaunchConfig sweep_config(std::int64_t n, int width) {
    return {.grid = blocks_for(n / width + (n % width != 0), kSweepBlock), .block = kSweepBlock};
}

/// Calls body(Width<N>()) with N = kVector<T> where all pointers are aligned to 16 bytes, else with N = 1.
template <class T, class Body>
void with_width(std::initializer_list<const void*> pointers, Body&& body) {
    std::uintptr_t bits = 0;
    for (const void* pointer : pointers) bits |= reinterpret_cast<std::uintptr_t>(pointer);
    if (bits % 16 == 0) return body(Width<kVector<T>>());
    body(Width<1>());
}

/// For kernels that only move elements: calls body(Width<B>()) with the largest B of 16, 8, 4, 2 and 1 bytes that divides all the
/// numbers (addresses, and lengths in bytes). Such kernels move Vector<std::uint8_t, B>, whatever the elements are.
template <class Body>
void with_bytes(std::initializer_list<std::uint64_t> numbers, Body&& body) {
    std::uint64_t bits = 0;
    for (const std::uint64_t number : numbers) bits |= number;
    if (bits % 16 == 0) return body(Width<16>());
    if (bits % 8 == 0) return body(Width<8>());
    if (bits % 4 == 0) return body(Width<4>());
    if (bits % 2 == 0) return body(Width<2>());
    body(Width<1>());
}
inline std::uint64_t address(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

}  // namespace heddle::device
