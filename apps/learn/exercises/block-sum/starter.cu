// Exercise block-sum: sums[b] = the sum of block b's 128 numbers. The page is block-sum.md.
#include "exercise.h"

// x [n], sums [(n + 127) / 128]; one block of 128 threads for each sum.
__global__ void block_sums(const float* x, float* sums, int n) {
    SharedArena arena;
    float* tile = arena.take<float>(128);
    const int t = static_cast<int>(threadIdx.x), i = static_cast<int>(blockIdx.x * blockDim.x) + t;
    // Your code: fill the tile, halve it until one number is left, write that.
}
