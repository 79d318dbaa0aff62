// What the answer defines, and how it is called.
#pragma once

#include "kernels/device/cuda.h"
#include "kernels/device/shared.h"

using heddle::device::SharedArena;

extern "C" {
/// The gradients of causal attention: with w[i, k] = e^(score[i, k] - logsum[i]) for k <= i, score[i, k] the sum over d of
/// queries[i, d] keys[k, d] / sqrt(32), and ds[i, k] = w[i, k] (the sum over d of dout[i, d] values[k, d] - delta[i]):
///
///     dqueries[i, d] = the sum over k <= i of ds[i, k] keys[k, d] / sqrt(32)
///     dkeys[k, d]    = the sum over i >= k of ds[i, k] queries[i, d] / sqrt(32)
///     dvalues[k, d]  = the sum over i >= k of w[i, k] dout[i, d]
///
/// queries, keys, values, dout, dqueries, dkeys and dvalues [length, 32]; logsum and delta [length]. Launched with (length + 7) /
/// 8 blocks of 32 x 8 threads, a warp for each row, and 8448 bytes of shared memory.
__global__ void attention_backward(const float* queries, const float* keys, const float* values, const float* dout,
                                   const float* logsum, const float* delta, float* dqueries, float* dkeys, float* dvalues,
                                   int length);
}
