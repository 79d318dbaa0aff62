// verdict: cost
#include "exercise.h"

__global__ void negate(const float* x, float* y, int n) {
    const int t = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    const int threads = static_cast<int>(gridDim.x * blockDim.x);
    for (int i = t; i < n; i += threads) y[i] = -x[i];
}
