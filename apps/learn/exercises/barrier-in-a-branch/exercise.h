// What the answer defines, and how it is called.
#pragma once

#include "kernels/device/cuda.h"
#include "kernels/device/shared.h"

using heddle::device::SharedArena;

extern "C" {
/// y[i] = x[i] - x[i - 1], and y[i] = x[i] where i is the first element of a block, a multiple of 128.   x [n], y [n]. Launched
/// with (n + 127) / 128 blocks of 128 threads, and 512 bytes of shared memory.
__global__ void differences(const float* x, float* y, int n);
}
