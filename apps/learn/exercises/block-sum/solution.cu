//: Exercise block-sum: sums[b] = the sum of block b's 128 numbers. The page is block-sum.md.
#include "exercise.h"

//: x [n], sums [(n + 127) / 128]; one block of 128 threads for each sum.
__global__ void block_sums(const float* x, float* sums, int n) {
    SharedArena arena;
    float* tile = arena.take<float>(128);
    const int t = static_cast<int>(threadIdx.x), i = static_cast<int>(blockIdx.x * blockDim.x) + t;
#ifndef STARTER
    tile[t] = i < n ? x[i] : 0.0f;
    __syncthreads();  // the tile is full
    for (int stride = 64; stride > 0; stride /= 2) {
        if (t < stride) tile[t] += tile[t + stride];
        __syncthreads();  // this step's sums are there; all threads come here, also those that added nothing
    }
    if (t == 0) sums[blockIdx.x] = tile[0];
#else
    // Your code: fill the tile, halve it until one number is left, write that.
#endif
}
