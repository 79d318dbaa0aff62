// verdict: cost
#include "exercise.h"

__global__ void differences(const float* x, float* y, int n) {
    SharedArena arena;
    float* tile = arena.take<float>(128);
    const int t = static_cast<int>(threadIdx.x), i = static_cast<int>(blockIdx.x * blockDim.x) + t;
    static_cast<void>(tile);
    if (i < n) y[i] = t > 0 ? x[i] - x[i - 1] : x[i];
}
