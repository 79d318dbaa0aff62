// verdict: values
#include "exercise.h"

__global__ void total(const float* x, float* sum, int n) {
    const int t = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
    SharedArena arena;
    int* tile = arena.take<int>(1);
    if (t == 0) tile[0] = 0;
    __syncthreads();
    for (int i = t; i < n; i += threads) atomicAdd(tile, static_cast<int>(x[i] * 10));
    __syncthreads();
    if (t == 0) *sum += static_cast<float>(tile[0]) / 10;
}
