// verdict: race line 6: two threads write y[17], but each element must belong to one thread
#include "exercise.h"

__global__ void scale(const float* x, float* y, float a) {
    const unsigned i = threadIdx.x;
    y[i] = a * x[i];
}
