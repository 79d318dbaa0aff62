// verdict: compile line 4: defines no kernel
#include "exercise.h"

__global__ void scaled(const float* x, float* y, float a) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = a * x[i];
}
