// What the answer defines, and how it is called.
#pragma once

#include "kernels/device/cuda.h"
#include "kernels/device/shared.h"

using heddle::device::SharedArena;

extern "C" {
/// out[i, d] = the sum over k <= i of w[i, k] values[k, d], where w[i, ..] is the softmax over k <= i of the sum over d of
/// queries[i, d] keys[k, d] / sqrt(32).   queries, keys, values and out [length, 32]. Launched with (length + 7) / 8 blocks of 32
/// x 8 threads, a warp for each query, and 8192 bytes of shared memory.
__global__ void attention(const float* queries, const float* keys, const float* values, float* out, int length);
}
