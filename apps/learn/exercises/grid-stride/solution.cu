#include "exercise.h"

__global__ void add_residual(float* x, const float* y, int n) {
    const int threads = static_cast<int>(gridDim.x * blockDim.x);
    for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < n; i += threads) x[i] += y[i];
}
