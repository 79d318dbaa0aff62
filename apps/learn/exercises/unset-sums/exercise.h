// What the answer defines, and how it is called.
#pragma once

#include "kernels/device/cuda.h"

extern "C" {
/// sums[c] = x[0, c] + ... + x[rows - 1, c].   x [rows, cols], sums [cols]. Launched with blocks of 64 threads, as many as it
/// takes to have cols threads or more.
__global__ void column_sums(const float* x, float* sums, int rows, int cols);
}
