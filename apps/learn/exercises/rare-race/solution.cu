//: Exercise rare-race: y[r, c] = x[r, c] - the mean of row r. Find the mistake. The page is rare-race.md.
#include "exercise.h"

//: x [rows, cols], y [rows, cols], cols <= 128; 2 blocks of 128 threads.
__global__ void subtract_mean(const float* x, float* y, int rows, int cols) {
    SharedArena arena;
    float* tile = arena.take<float>(128);
    const int t = static_cast<int>(threadIdx.x);
    for (int row = static_cast<int>(blockIdx.x); row < rows; row += static_cast<int>(gridDim.x)) {
        const float value = t < cols ? x[row * cols + t] : 0.0f;
        tile[t] = value;
        __syncthreads();
        for (int stride = 64; stride > 0; stride /= 2) {
            if (t < stride) tile[t] += tile[t + stride];
            __syncthreads();
        }
        if (t < cols) y[row * cols + t] = value - tile[0] / static_cast<float>(cols);
#ifndef STARTER
        __syncthreads();  // everybody has read tile[0]: the next row may overwrite it
#endif
    }
}
