// What the answer defines, and how it is called.
#pragma once

#include "kernels/device/cuda.h"
#include "kernels/device/vector.h"

using heddle::device::load_vector;
using heddle::device::store_vector;
using heddle::device::Vector;

extern "C" {
/// y[i] = -x[i].   x [n], y [n], both aligned to 16 bytes, any n. Launched with blocks of 64 threads, as many as it takes to have
/// n / 4 + 3 threads or more.
__global__ void negate(const float* x, float* y, int n);
}
