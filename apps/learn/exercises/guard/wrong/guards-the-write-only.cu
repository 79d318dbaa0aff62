// verdict: bounds line 6: reads
#include "exercise.h"

__global__ void square(const float* x, float* y, int n) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    float value = x[i];
    if (i < n) y[i] = value * value;
}
