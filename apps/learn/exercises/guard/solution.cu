//: Exercise guard: y[i] = x[i]^2 for every n. The page is guard.md.
#include "exercise.h"

//: x [n], y [n]; (n + 127) / 128 blocks of 128 threads.
__global__ void square(const float* x, float* y, int n) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
#ifndef STARTER
    // The last block may have threads without an element.
    if (i < n) y[i] = x[i] * x[i];
#else
    y[i] = x[i] * x[i];  // right if n is a multiple of 128
#endif
}
