//: Exercise scan: y[i] = the sum of the block's elements up to i. The page is scan.md.
#include "exercise.h"

//: x [n], y [n]; (n + 127) / 128 blocks of 128 threads.
__global__ void running_sums(const float* x, float* y, int n) {
    SharedArena arena;
    float* tile = arena.take<float>(128);
    const int t = static_cast<int>(threadIdx.x), i = static_cast<int>(blockIdx.x * blockDim.x) + t;
#ifndef STARTER
    tile[t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int d = 1; d < 128; d *= 2) {
        const float before = t >= d ? tile[t - d] : 0.0f;
        __syncthreads();  // everybody has read
        tile[t] += before;
        __syncthreads();  // everybody has written
    }
    if (i < n) y[i] = tile[t];
#else
    // Your code.
#endif
}
