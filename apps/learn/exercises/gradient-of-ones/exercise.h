// What the answer defines, and how it is called.
#pragma once

#include "kernels/device/cuda.h"

extern "C" {
/// The gradient of a softmax: dx[r, c] = y[r, c] (dy[r, c] - the sum over k of dy[r, k] y[r, k]).   y [rows, cols] the softmax's
/// result, dy [rows, cols], dx [rows, cols]. Launched with one block of 32 threads, a warp, for each row.
__global__ void softmax_gradient(const float* y, const float* dy, float* dx, int cols);
}
