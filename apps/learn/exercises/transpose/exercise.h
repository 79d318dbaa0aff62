// What the answer defines, and how it is called.
#pragma once

#include "kernels/device/cuda.h"
#include "kernels/device/shared.h"

using heddle::device::SharedArena;

extern "C" {
/// y[c, r] = x[r, c].   x [rows, cols], y [cols, rows]. Launched with blocks of 32 x 8 threads, one for each tile of 32 x 32
/// elements: blockIdx.x along the columns of x, blockIdx.y along its rows; 4352 bytes of shared memory.
__global__ void transpose(const float* x, float* y, int rows, int cols);
}
