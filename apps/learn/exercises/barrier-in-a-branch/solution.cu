//: Exercise barrier-in-a-branch: y[i] = x[i] - x[i - 1] in each block. Find the mistake. The page is barrier-in-a-branch.md.
#include "exercise.h"

//: x [n], y [n]; (n + 127) / 128 blocks of 128 threads.
__global__ void differences(const float* x, float* y, int n) {
    SharedArena arena;
    float* tile = arena.take<float>(128);
    const int t = static_cast<int>(threadIdx.x), i = static_cast<int>(blockIdx.x * blockDim.x) + t;
#ifndef STARTER
    if (i < n) tile[t] = x[i];
    __syncthreads();  // of all threads, also of those without an element
    if (i < n) y[i] = t > 0 ? tile[t] - tile[t - 1] : tile[t];
#else
    if (i < n) {
        tile[t] = x[i];
        __syncthreads();
        y[i] = t > 0 ? tile[t] - tile[t - 1] : tile[t];
    }
#endif
}
