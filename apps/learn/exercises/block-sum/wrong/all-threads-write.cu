// verdict: race line 14: two threads write sums[0], but each element must belong to one thread
#include "exercise.h"

__global__ void block_sums(const float* x, float* sums, int n) {
    SharedArena arena;
    float* tile = arena.take<float>(128);
    const int t = static_cast<int>(threadIdx.x), i = static_cast<int>(blockIdx.x * blockDim.x) + t;
    tile[t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int stride = 64; stride > 0; stride /= 2) {
        if (t < stride) tile[t] += tile[t + stride];
        __syncthreads();
    }
    sums[blockIdx.x] = tile[0];
}
