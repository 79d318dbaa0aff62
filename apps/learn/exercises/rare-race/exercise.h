// What the answer defines, and how it is called.
#pragma once

#include "kernels/device/cuda.h"
#include "kernels/device/shared.h"

using heddle::device::SharedArena;

extern "C" {
/// y[r, c] = x[r, c] - the mean of row r.   x [rows, cols], y [rows, cols], cols <= 128. Always launched with 2 blocks of 128
/// threads, and 512 bytes of shared memory.
__global__ void subtract_mean(const float* x, float* y, int rows, int cols);
}
