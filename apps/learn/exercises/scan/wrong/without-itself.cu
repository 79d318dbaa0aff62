// verdict: values: y[0] is 0
#include "exercise.h"

__global__ void running_sums(const float* x, float* y, int n) {
    SharedArena arena;
    float* tile = arena.take<float>(128);
    const int t = static_cast<int>(threadIdx.x), i = static_cast<int>(blockIdx.x * blockDim.x) + t;
    tile[t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int d = 1; d < 128; d *= 2) {
        const float before = t >= d ? tile[t - d] : 0.0f;
        __syncthreads();
        tile[t] += before;
        __syncthreads();
    }
    if (i < n) y[i] = t > 0 ? tile[t - 1] : 0.0f;
}
