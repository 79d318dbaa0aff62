// What the answer defines, and how it is called.
#pragma once

#include "kernels/device/cuda.h"

extern "C" {
/// y[r, c] = x[r, c] + bias[c].   x [rows, cols], y [rows, cols], bias [cols], rows one after the other in memory. Launched with
/// blocks of 32 x 8 threads, x along the columns and y along the rows, as many as it takes to cover the matrix.
__global__ void add_bias(const float* x, const float* bias, float* y, int rows, int cols);
}
