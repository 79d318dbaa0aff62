// verdict: bounds line 6: reads x[256] at counts-from-one.cu:6; x has 256 elements
#include "exercise.h"

__global__ void scale(const float* x, float* y, float a) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x + 1;
    y[i] = a * x[i];
}
