// verdict: race line 6
#include "exercise.h"

__global__ void add_residual(float* x, const float* y, int n) {
    const int begin = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    for (int i = begin; i < n; i += static_cast<int>(gridDim.x)) x[i] += y[i];
}
