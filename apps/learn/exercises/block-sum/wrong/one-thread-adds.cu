// verdict: cost line 12
#include "exercise.h"

__global__ void block_sums(const float* x, float* sums, int n) {
    SharedArena arena;
    float* tile = arena.take<float>(128);
    const int t = static_cast<int>(threadIdx.x), i = static_cast<int>(blockIdx.x * blockDim.x) + t;
    tile[t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    if (t > 0) return;
    float sum = 0;
    for (int k = 0; k < 128; ++k) sum += tile[k];
    sums[blockIdx.x] = sum;
}
