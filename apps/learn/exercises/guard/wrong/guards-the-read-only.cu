// verdict: bounds line 7
#include "exercise.h"

__global__ void square(const float* x, float* y, int n) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    const float value = i < n ? x[i] : 0.0f;
    y[i] = value * value;
}
