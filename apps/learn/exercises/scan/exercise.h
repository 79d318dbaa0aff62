// What the answer defines, and how it is called.
#pragma once

#include "kernels/device/cuda.h"
#include "kernels/device/shared.h"

using heddle::device::SharedArena;

extern "C" {
/// y[i] = x[128 b] + ... + x[i], where b = i / 128 is the block of i.   x [n], y [n]. Launched with (n + 127) / 128 blocks of 128
/// threads, and 1024 bytes of shared memory.
__global__ void running_sums(const float* x, float* y, int n);
}
