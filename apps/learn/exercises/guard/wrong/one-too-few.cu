// verdict: unwritten: y[127] was never written
#include "exercise.h"

__global__ void square(const float* x, float* y, int n) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n - 1) y[i] = x[i] * x[i];
}
