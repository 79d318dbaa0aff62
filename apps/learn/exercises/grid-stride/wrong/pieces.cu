// verdict: cost line 8: sectors of 32 bytes where
#include "exercise.h"

__global__ void add_residual(float* x, const float* y, int n) {
    const int begin = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    const int threads = static_cast<int>(gridDim.x * blockDim.x);
    const int each = (n + threads - 1) / threads;
    for (int i = begin * each; i < (begin + 1) * each && i < n; ++i) x[i] += y[i];
}
