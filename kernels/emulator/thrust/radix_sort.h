// Sorts of numbers by their bits, as work of a stream: what cub::DeviceRadixSort and thrust::sort of numbers are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/emulator/include/cuda_runtime.h"
#include "kernels/emulator/place.h"

struct __half;
struct __nv_bfloat16;

namespace thrust::detail {

enum class KeyKind : unsigned char { unsigned_integer, signed_integer, floating };

struct SortRequest {
    const char* name;  ///< of the call, for reports
    KeyKind kind;
    std::size_t key_bytes;
    const void* keys_in = nullptr;
    void* keys_out = nullptr;
    const void* values_in = nullptr;  ///< null: keys alone
    void* values_out = nullptr;
    std::size_t value_bytes = 0;
    std::size_t n;
    bool descending;
    int begin_bit, end_bit;  ///< the bits of a key that count
    cudaStream_t stream;
    heddle::emulator::Place place;
};
/// Queues the sort, which is stable. Input and output may be the same memory.
cudaError_t sort_numbers(const SortRequest& request);

template <class T>
inline constexpr bool is_half = std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>;
template <class T>
inline constexpr bool is_key = (std::is_arithmetic_v<T> && sizeof(T) <= 8) || is_half<T>;

template <class Key>
SortRequest sort_request(const char* name, std::size_t n, bool descending, cudaStream_t stream, heddle::emulator::Place place) {
    static_assert(is_key<Key>,
                  "a radix sort takes keys of integers and floating-point numbers; a struct's decomposer is not emulated");
    SortRequest request{};
    request.name = name;
    request.kind = std::is_floating_point_v<Key> || is_half<Key> ? KeyKind::floating
                   : std::is_signed_v<Key>                       ? KeyKind::signed_integer
                                                                 : KeyKind::unsigned_integer;
    request.key_bytes = sizeof(Key);
    request.n = n;
    request.descending = descending;
    request.begin_bit = 0;
    request.end_bit = static_cast<int>(8 * sizeof(Key));
    request.stream = stream;
    request.place = place;
    return request;
}

}  // namespace thrust::detail
