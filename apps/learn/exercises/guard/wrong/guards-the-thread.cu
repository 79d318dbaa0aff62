// verdict: bounds line 6
#include "exercise.h"

__global__ void square(const float* x, float* y, int n) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (static_cast<int>(threadIdx.x) < n) y[i] = x[i] * x[i];
}
