// verdict: race line 8 and 10: without a barrier (__syncthreads) between
#include "exercise.h"

__global__ void block_sums(const float* x, float* sums, int n) {
    SharedArena arena;
    float* tile = arena.take<float>(128);
    const int t = static_cast<int>(threadIdx.x), i = static_cast<int>(blockIdx.x * blockDim.x) + t;
    tile[t] = i < n ? x[i] : 0.0f;
    for (int stride = 64; stride > 0; stride /= 2) {
        if (t < stride) tile[t] += tile[t + stride];
        __syncthreads();
    }
    if (t == 0) sums[blockIdx.x] = tile[0];
}
