// What the answer defines, and how it is called.
#pragma once

#include "kernels/device/cuda.h"

extern "C" {
/// losses[r] = log(the sum over k of e^x[r, k]) - x[r, t] with t = targets[r], and its gradient dx[r, c] = e^x[r, c] / that sum,
/// less 1 where c = t. A target of -1 is ignored: loss and gradient are 0.   x [rows, cols], targets [rows], losses [rows], dx
/// [rows, cols]. Launched with one block of 32 threads, a warp, for each row.
__global__ void cross_entropy(const float* x, const int* targets, float* losses, float* dx, int cols);
}
