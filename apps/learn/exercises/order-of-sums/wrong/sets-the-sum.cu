// verdict: values line 16: sum[0]
#include "exercise.h"

__global__ void total(const float* x, float* sum, int n) {
    const int t = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
    float own = 0;
    for (int i = t; i < n; i += threads) own += x[i];
    SharedArena arena;
    float* tile = arena.take<float>(256);
    tile[t] = own;
    __syncthreads();
    for (int stride = 128; stride > 0; stride /= 2) {
        if (t < stride) tile[t] += tile[t + stride];
        __syncthreads();
    }
    if (t == 0) *sum = tile[0];
}
