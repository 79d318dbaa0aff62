// What the answer defines, and how it is called.
#pragma once

#include "kernels/device/cuda.h"
#include "kernels/device/shared.h"

using heddle::device::SharedArena;

extern "C" {
/// y[i, j] = gelu(the sum over k of x[i, k] weight[j, k], plus bias[j]), gelu(z) = z (1 + erf(z / sqrt(2))) / 2.   x [rows,
/// depth], weight [cols, depth], bias [cols], y [rows, cols]. Launched with a block of 16 x 16 threads for each tile of 16 x 16
/// elements of y: blockIdx.x along its columns, blockIdx.y along its rows; 4096 bytes of shared memory.
__global__ void linear_gelu(const float* x, const float* weight, const float* bias, float* y, int rows, int cols, int depth);
}
