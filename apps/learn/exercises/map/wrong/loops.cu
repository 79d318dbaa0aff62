// verdict: race line 5
#include "exercise.h"

__global__ void scale(const float* x, float* y, float a) {
    for (unsigned i = 0; i < gridDim.x * blockDim.x; ++i) y[i] = a * x[i];
}
