//: Exercise map: y[i] = a x[i], one thread for each element. The page is map.md.
#include "exercise.h"

//: x [n], y [n]; n / 128 blocks of 128 threads.
__global__ void scale(const float* x, float* y, float a) {
#ifndef STARTER
    // The blocks before this one have blockIdx.x * blockDim.x threads; neighbouring threads get neighbouring elements.
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = a * x[i];
#else
    // Your code: which element is this thread's? Read it from x, and write y.
#endif
}
