// What the answer defines, and how it is called.
#pragma once

#include "kernels/device/cuda.h"

extern "C" {
/// out[h, d] = the sum over k of w[k] values[h, k, d], where w is the softmax over k < length of the sum over d of query[h, d]
/// keys[h, k, d] / sqrt(32).   query [heads, 32], keys [heads, capacity, 32], values [heads, capacity, 32], out [heads, 32],
/// 1 <= length <= capacity. Launched with one block of 32 threads, a warp, for each head.
__global__ void attend(const float* query, const float* keys, const float* values, float* out, int length, int capacity);
}
