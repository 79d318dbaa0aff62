// verdict: cost line 6: 32 sectors of 32 bytes where 4 would do
#include "exercise.h"

__global__ void scale(const float* x, float* y, float a) {
    const unsigned i = threadIdx.x * gridDim.x + blockIdx.x;
    y[i] = a * x[i];
}
