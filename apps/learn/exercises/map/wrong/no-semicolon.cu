// verdict: compile line 6: expected
#include "exercise.h"

__global__ void scale(const float* x, float* y, float a) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = a * x[i]
}
