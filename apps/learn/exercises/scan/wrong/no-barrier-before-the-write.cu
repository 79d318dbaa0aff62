// verdict: race line 12
#include "exercise.h"

__global__ void running_sums(const float* x, float* y, int n) {
    SharedArena arena;
    float* tile = arena.take<float>(128);
    const int t = static_cast<int>(threadIdx.x), i = static_cast<int>(blockIdx.x * blockDim.x) + t;
    tile[t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int d = 1; d < 128; d *= 2) {
        const float before = t >= d ? tile[t - d] : 0.0f;
        tile[t] += before;
        __syncthreads();
    }
    if (i < n) y[i] = tile[t];
}
