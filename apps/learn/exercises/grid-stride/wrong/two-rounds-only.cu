// verdict: values: which is its value from before the launch
#include "exercise.h"

__global__ void add_residual(float* x, const float* y, int n) {
    const int begin = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    const int threads = static_cast<int>(gridDim.x * blockDim.x);
    if (begin < n) x[begin] += y[begin];
    if (begin + threads < n) x[begin + threads] += y[begin + threads];
}
