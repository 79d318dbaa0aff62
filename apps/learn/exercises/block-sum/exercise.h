// What the answer defines, and how it is called.
#pragma once

#include "kernels/device/cuda.h"
#include "kernels/device/shared.h"

using heddle::device::SharedArena;

extern "C" {
/// sums[b] = x[128 b] + ... + x[128 b + 127], as far as these are below n.   x [n], sums [(n + 127) / 128]. Launched with one
/// block of 128 threads for each sum, and 512 bytes of shared memory.
__global__ void block_sums(const float* x, float* sums, int n);
}
