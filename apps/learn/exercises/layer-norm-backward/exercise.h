// What the answer defines, and how it is called.
#pragma once

#include "kernels/device/cuda.h"

extern "C" {
/// The gradient of a layer norm with regard to x: dx[r, c] = rstd[r] (g[c] - the mean of g - n[c] times the mean of g n), with
/// g[c] = dy[r, c] gamma[c] and n[c] = (x[r, c] - mean[r]) rstd[r].   x [rows, cols], gamma [cols], mean [rows], rstd [rows],
/// dy [rows, cols], dx [rows, cols], cols <= 128. Launched with one block of 32 threads, a warp, for each row.
__global__ void layer_norm_backward(const float* x, const float* gamma, const float* mean, const float* rstd, const float* dy,
                                    float* dx, int cols);
}
