// verdict: race line 6
#include "exercise.h"

__global__ void scale(const float* x, float* y, float a) {
    const unsigned i = blockIdx.x * blockDim.x;
    y[i] = a * x[i];
}
