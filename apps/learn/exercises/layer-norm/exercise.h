// What the answer defines, and how it is called.
#pragma once

#include "kernels/device/cuda.h"

extern "C" {
/// y[r, c] = (x[r, c] - mean) / sqrt(variance + eps) gamma[c] + beta[c], with the mean and the variance of row r.   x [rows,
/// cols], gamma [cols], beta [cols], y [rows, cols], cols <= 128. Launched with one block of 32 threads, a warp, for each row.
__global__ void layer_norm(const float* x, const float* gamma, const float* beta, float* y, int cols, float eps);
}
