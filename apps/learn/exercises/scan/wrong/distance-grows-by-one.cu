// verdict: cost
#include "exercise.h"

__global__ void running_sums(const float* x, float* y, int n) {
    SharedArena arena;
    float* tile = arena.take<float>(128);
    const int t = static_cast<int>(threadIdx.x), i = static_cast<int>(blockIdx.x * blockDim.x) + t;
    tile[t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    // Right, but one step for each distance: only the element directly before is added, as often as needed.
    const float own = tile[t];
    for (int d = 1; d < 128; ++d) {
        const float before = t >= 1 ? tile[t - 1] : 0.0f;
        __syncthreads();
        tile[t] = own + before;
        __syncthreads();
    }
    if (i < n) y[i] = tile[t];
}
