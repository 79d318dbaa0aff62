#include "exercise.h"

__global__ void scale(const float* x, float* y, float a) {
    // The blocks before this one have blockIdx.x * blockDim.x threads; neighbouring threads get neighbouring elements.
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = a * x[i];
}
