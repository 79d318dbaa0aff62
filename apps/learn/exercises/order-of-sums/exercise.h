// What the answer defines, and how it is called.
#pragma once

#include "kernels/device/cuda.h"
#include "kernels/device/shared.h"

using heddle::device::SharedArena;

extern "C" {
/// *sum += x[0] + ... + x[n - 1].   x [n], sum [1]. Launched with one block of 256 threads, and 1024 bytes of shared memory.
__global__ void total(const float* x, float* sum, int n);
}
