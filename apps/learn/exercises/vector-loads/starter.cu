// Exercise vector-loads: y[i] = a x[i], four floats in one access. The page is vector-loads.md.
#include "exercise.h"

// x [n], y [n], n a multiple of 4; blocks of 64 threads, n / 4 threads or more.
__global__ void scale(const float* x, float* y, float a, int n) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= n / 4) return;
    for (int k = 0; k < 4; ++k) y[4 * i + k] = a * x[4 * i + k];  // eight accesses; two would do
}
