// What the answer defines, and how it is called.
#pragma once

#include "kernels/device/cuda.h"

extern "C" {
/// y[r, c] = e^x[r, c] / the sum of e^x[r, k] over k < lengths[r], for c < lengths[r]; else 0. A row of length 0 gives zeros.
/// x [rows, cols], lengths [rows], 0 <= lengths[r] <= cols, y [rows, cols]. Launched with one block of 32 threads, a warp, for
/// each row.
__global__ void masked_softmax(const float* x, const int* lengths, float* y, int cols);
}
