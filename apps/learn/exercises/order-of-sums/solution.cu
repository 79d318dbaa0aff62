//: Exercise order-of-sums: *sum += x[0] + ... + x[n - 1], with the same bits in every run. The page is order-of-sums.md.
#include "exercise.h"

//: x [n], sum [1]; one block of 256 threads.
__global__ void total(const float* x, float* sum, int n) {
    const int t = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
    float own = 0;
    for (int i = t; i < n; i += threads) own += x[i];
#ifndef STARTER
    SharedArena arena;
    float* tile = arena.take<float>(256);
    tile[t] = own;
    __syncthreads();
    for (int stride = 128; stride > 0; stride /= 2) {
        if (t < stride) tile[t] += tile[t + stride];
        __syncthreads();
    }
    if (t == 0) *sum += tile[0];
#else
    // *sum += own, as one step
    auto* const bits = reinterpret_cast<unsigned*>(sum);
    for (unsigned old = atomicAdd(bits, 0u), read = old + 1; old != read;) {
        read = old;
        old = atomicCAS(bits, read, __float_as_uint(__uint_as_float(read) + own));  // writes if *bits is still `read`
    }
#endif
}
