// verdict: race line 7
#include "exercise.h"

__global__ void square(const float* x, float* y, int n) {
    int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= n) i = n - 1;
    y[i] = x[i] * x[i];
}
