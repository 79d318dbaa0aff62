// What the answer defines, and how it is called.
#pragma once

#include "kernels/device/cuda.h"
#include "kernels/device/shared.h"

using heddle::device::SharedArena;

extern "C" {
/// c[i, j] = the sum over k of a[i, k] b[k, j].   a [m, depth], b [depth, n], c [m, n]. Launched with a block of 16 x 16 threads
/// for each tile of 16 x 16 elements of c: blockIdx.x along its columns, blockIdx.y along its rows; 4096 bytes of shared memory.
__global__ void product(const float* a, const float* b, float* c, int m, int n, int depth);
}
