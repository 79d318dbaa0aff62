// What the answer defines, and how it is called.
#pragma once

#include "kernels/device/cuda.h"

extern "C" {
/// y[i] = a x[i].   x [n], y [n]; n is a multiple of 128. Launched with n / 128 blocks of 128 threads.
__global__ void scale(const float* x, float* y, float a);
}
