// Exercise async-copy: each tile of 256 numbers backwards, with asynchronous copies. The page is async-copy.md.
#include "exercise.h"

// x [256 tiles], y [256 tiles]; one block of 64 threads.
__global__ void reverse_tiles(const float* x, float* y, int tiles) {
    SharedArena arena;
    float* tile = arena.take<float>(256);
    const int t = static_cast<int>(threadIdx.x);
    for (int s = 0; s < tiles; ++s) {
        for (int j = t; j < 256; j += 64) tile[j] = x[s * 256 + j];  // waits for each load
        __syncthreads();
        for (int j = t; j < 256; j += 64) y[s * 256 + j] = tile[255 - j];
        __syncthreads();
    }
}
