// verdict: cost line 8: 4 bytes at a time
#include "exercise.h"

__global__ void scale(const float* x, float* y, float a, int n) {
    const int begin = static_cast<int>(blockIdx.x * blockDim.x * 4 + threadIdx.x);
    for (int k = 0; k < 4; ++k) {
        const int i = begin + k * static_cast<int>(blockDim.x);
        if (i < n) y[i] = a * x[i];
    }
}
