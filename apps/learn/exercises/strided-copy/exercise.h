// What the answer defines, and how it is called.
#pragma once

#include "kernels/device/cuda.h"

extern "C" {
/// y[r, c] = x[r, first + c].   x [rows, pitch], y [rows, cols], first + cols <= pitch. Launched with one block of 64 threads for
/// each row.
__global__ void take_columns(const float* x, float* y, int pitch, int first, int cols);
}
