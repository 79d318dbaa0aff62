// Sums and maxima over the threads of a warp or a block, in a fixed order: the same bits at each run.
#pragma once

#include "kernels/device/number.h"
#include "kernels/device/shared.h"

namespace heddle::device {

struct Sum {
    template <class T>
    __device__ __forceinline__ T operator()(T a, T b) const {
        return a + b;
    }
};
struct Max {
    template <class T>
    __device__ __forceinline__ T operator()(T a, T b) const {
        return larger(a, b);
    }
};

/// op over the `Width` neighbouring lanes (a power of two) that this lane belongs to; every lane gets it. A butterfly: lanes that
/// differ in bit o exchange their values, for o = Width / 2 down to 1. All 32 lanes must call it.
template <int Width = kWarp, class T, class Op>
__device__ __forceinline__ T warp_reduce(T value, Op op) {
#pragma unroll
    for (int o = Width / 2; o > 0; o /= 2) value = op(value, __shfl_xor_sync(kAllLanes, value, o));
    return value;
}
template <int Width = kWarp, class T>
__device__ __forceinline__ T warp_sum(T value) {
    return warp_reduce<Width>(value, Sum());
}
template <int Width = kWarp, class T>
__device__ __forceinline__ T warp_max(T value) {
    return warp_reduce<Width>(value, Max());
}

/// Shared memory that a block reduction needs, in elements.
inline constexpr int kBlockReduce = kWarp;

/// op over all threads of the block; every thread gets it. `scratch` [kBlockReduce] in shared memory; it may be used again for
/// the next reduction at once. Every thread of the block must call it, and the block must be whole warps.
template <class T, class Op>
__device__ __forceinline__ T block_reduce(T value, Op op, T neutral, T* scratch) {
    const int warps = static_cast<int>(blockDim.x) / kWarp;
    value = warp_reduce(value, op);
    if (warps == 1) return value;
    if (lane() == 0) scratch[warp()] = value;
    __syncthreads();  // the warps' values are there
    value = warp_reduce(lane() < warps ? scratch[lane()] : neutral, op);
    __syncthreads();  // every warp has read them: the scratch may be overwritten
    return value;
}
template <class T>
__device__ __forceinline__ T block_sum(T value, T* scratch) {
    return block_reduce(value, Sum(), T{0}, scratch);
}
template <class T>
__device__ __forceinline__ T block_max(T value, T* scratch) {
    return block_reduce(value, Max(), lowest<T>(), scratch);
}

}  // namespace heddle::device
