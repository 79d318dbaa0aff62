// What the answer defines, and how it is called.
#pragma once

#include "kernels/device/cuda.h"

extern "C" {
/// y[i] = x[i]^2.   x [n], y [n]. Launched with blocks of 128 threads, as many as it takes to have n threads or more.
__global__ void square(const float* x, float* y, int n);
}
