// verdict: unwritten: y[0] was never written
#include "exercise.h"

__global__ void square(const float* x, float* y, int n) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (static_cast<int>((blockIdx.x + 1) * blockDim.x) <= n) y[i] = x[i] * x[i];
}
