// CUB's function objects and small types, and what its collectives share.
#pragma once

#include "kernels/emulator/indices.h"

namespace cub {

struct NullType {};

/// Two buffers, of which the sort says afterwards which has the result.
template <class T>
struct DoubleBuffer {
    T* d_buffers[2] = {};
    int selector = 0;
    DoubleBuffer() = default;
    DoubleBuffer(T* current, T* alternate) : d_buffers{current, alternate} {}
    T* Current() { return d_buffers[selector]; }
    T* Alternate() { return d_buffers[selector ^ 1]; }
};

enum BlockReduceAlgorithm { BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY, BLOCK_REDUCE_RAKING, BLOCK_REDUCE_WARP_REDUCTIONS };
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };
enum BlockLoadAlgorithm {
    BLOCK_LOAD_DIRECT,
    BLOCK_LOAD_STRIPED,
    BLOCK_LOAD_VECTORIZE,
    BLOCK_LOAD_TRANSPOSE,
    BLOCK_LOAD_WARP_TRANSPOSE,
    BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED
};
enum BlockStoreAlgorithm {
    BLOCK_STORE_DIRECT,
    BLOCK_STORE_STRIPED,
    BLOCK_STORE_VECTORIZE,
    BLOCK_STORE_TRANSPOSE,
    BLOCK_STORE_WARP_TRANSPOSE,
    BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED
};

template <class Key_, class Value_>
struct KeyValuePair {
    using Key = Key_;
    using Value = Value_;
    Key key;
    Value value;
    constexpr bool operator==(const KeyValuePair& other) const { return key == other.key && value == other.value; }
    constexpr bool operator!=(const KeyValuePair& other) const { return !(*this == other); }
};

#define HEDDLE_OPERATOR(NAME, RESULT, EXPRESSION)                   \
    struct NAME {                                                   \
        template <class T>                                          \
        constexpr RESULT operator()(const T& a, const T& b) const { \
            return static_cast<RESULT>(EXPRESSION);                 \
        }                                                           \
    };
HEDDLE_OPERATOR(Sum, T, a + b)
HEDDLE_OPERATOR(Difference, T, a - b)
HEDDLE_OPERATOR(Max, T, a < b ? b : a)
HEDDLE_OPERATOR(Min, T, b < a ? b : a)
HEDDLE_OPERATOR(Equality, bool, a == b)
HEDDLE_OPERATOR(Inequality, bool, a != b)
/// Returns the pair with the larger value, and of two equal ones that with the smaller key.
HEDDLE_OPERATOR(ArgMax, T, a.value < b.value || (a.value == b.value && b.key < a.key) ? b : a)
HEDDLE_OPERATOR(ArgMin, T, b.value < a.value || (a.value == b.value && b.key < a.key) ? b : a)
#undef HEDDLE_OPERATOR

namespace detail {

inline int thread_in_block() { return static_cast<int>(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)); }
inline int threads_of_block() { return static_cast<int>(blockDim.x * blockDim.y * blockDim.z); }

/// Shared memory for N values, which are not constructed.
template <class T, int N>
struct Storage {
    alignas(T) unsigned char bytes[sizeof(T) * N];
    T* values() { return reinterpret_cast<T*>(bytes); }
};

/// The items of one thread, in order.
template <class T, int N, class Op>
T combine(const T (&items)[N], Op op) {
    T sum = items[0];
    for (int i = 1; i < N; ++i) sum = op(sum, items[i]);
    return sum;
}

}  // namespace detail

}  // namespace cub
