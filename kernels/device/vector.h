// Several neighbouring elements with one memory access. A warp that reads 16 bytes a lane moves 512 bytes with one instruction:
// the widest there is, and what it takes to reach the memory's bandwidth with few threads.
#pragma once

#include <cstdint>

#include "kernels/device/number.h"

namespace heddle::device {

/// N elements that are loaded and stored together; N * sizeof(T) is 2, 4, 8 or 16, and the address a multiple of it.
template <class T, int N>
struct alignas(N * sizeof(T)) Vector {
    T values[N];
    __device__ __forceinline__ T& operator[](int i) { return values[i]; }
    __device__ __forceinline__ const T& operator[](int i) const { return values[i]; }
};

/// Elements of T in 16 bytes.
template <class T>
inline constexpr int kVector = static_cast<int>(16 / sizeof(T));

#if defined(__CUDACC__)
template <int N, class T>
__device__ __forceinline__ Vector<T, N> load_vector(const T* from) {
    return *reinterpret_cast<const Vector<T, N>*>(from);
}
template <int N, class T>
__device__ __forceinline__ void store_vector(T* to, const Vector<T, N>& values) {
    *reinterpret_cast<Vector<T, N>*>(to) = values;
}
/// The same to global memory, in one access for certain. The compiler joins the stores of bf16 that were rounded one by one to 4
/// bytes and, in kernels with branches around them, no further: four times as many store transactions.
template <int N, class T>
__device__ __forceinline__ void store_vector_whole(T* to, const Vector<T, N>& values) {
    if constexpr (std::is_same_v<T, bf16> && N == 8)
        ptx::store_global(to, pack(values[0], values[1]), pack(values[2], values[3]), pack(values[4], values[5]),
                          pack(values[6], values[7]));
    else if constexpr (std::is_same_v<T, bf16> && N == 4)
        ptx::store_global(to, pack(values[0], values[1]), pack(values[2], values[3]));
    else
        store_vector(to, values);
}
#else
template <int N, class T>
inline Vector<T, N> load_vector(const T* from, emulator::Place place = emulator::Place::current()) {
    Vector<T, N> result;
    emulator::load_vector(result.values, from, sizeof result, place);
    return result;
}
template <int N, class T>
inline void store_vector(T* to, const Vector<T, N>& values, emulator::Place place = emulator::Place::current()) {
    emulator::store_vector(to, values.values, sizeof values, place);
}
template <int N, class T>
inline void store_vector_whole(T* to, const Vector<T, N>& values, emulator::Place place = emulator::Place::current()) {
    store_vector(to, values, place);
}
#endif

/// Whether rows of `cols` elements from `pointer` on may be accessed N elements at a time: the start and every row are multiples.
/// For host code, which then chooses the instantiation with N = 1.
template <class T>
inline bool vectors_fit(const T* pointer, std::int64_t cols, int n) {
    return reinterpret_cast<std::uintptr_t>(pointer) % (sizeof(T) * static_cast<std::size_t>(n)) == 0 && cols % n == 0;
}

}  // namespace heddle::device
