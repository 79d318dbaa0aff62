// What the answer defines, and how it is called.
#pragma once

#include "kernels/device/cuda.h"
#include "kernels/device/vector.h"

using heddle::device::load_vector;
using heddle::device::store_vector;
using heddle::device::Vector;

extern "C" {
/// y[i] = a x[i].   x [n], y [n], both aligned to 16 bytes; n is a multiple of 4. Launched with blocks of 64 threads, as many as
/// it takes to have n / 4 threads or more.
__global__ void scale(const float* x, float* y, float a, int n);
}
