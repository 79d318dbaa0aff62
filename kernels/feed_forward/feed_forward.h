// The position-wise feed-forward network, fused.
//
//     forward    u = x W1^T + b1,  h = dropout(act(u)),  y = h W2^T + b2        Vaswani et al. (2017), equation 2; dropout inside
//     backward   dh = dy W2,  dW2 = dy^T h,  db2 = sum dy
//                du = dh * dropout factor * act'(u),  dx = du W1,  dW1 = du^T x,  db1 = sum du
//
// x [rows, d_model], W1 [d_ff, d_model], W2 [d_model, d_ff]. One tensor of width d_ff is kept for backward. For ReLU it is h:
// where h is 0, either act' or the factor is 0, and elsewhere the factor is the dropout's scale, so that neither u nor a mask is
// needed. For the smooth functions (GELU, SiLU) it is u, and h is computed again.
//
// On the CPU in f32, rows go through both products block by block, so that a block of h is still in the cache when the second
// product reads it; in f64 the ops run one after another. On CUDA h is never written where the network is narrow, and activation
// and dropout take no pass of their own where sums are short (README.md).
#pragma once

#include "core/random.h"
#include "core/tensor.h"
#include "kernels/activation/activation.h"
#include "kernels/linear/linear.h"

namespace heddle::kernels {

struct FeedForwardWeights {
    Tensor w1, b1, w2, b2;  ///< the biases may be undefined
};

struct FeedForwardResult {
    Tensor y;       ///< [rows, d_model]
    Tensor hidden;  ///< [rows, d_ff]: h for ReLU, otherwise u; undefined unless it was to be kept
};
/// f32 or f64, on CUDA bf16 too. Row r of the dropout counter is row r of h.
FeedForwardResult feed_forward_forward(const Tensor& x, const FeedForwardWeights& weights, Activation activation,
                                       const Dropout& dropout, bool keep);

struct FeedForwardWants {
    bool x = true, w1 = true, b1 = true, w2 = true, b2 = true;
};
/// dx (undefined unless wanted); the wanted ones of `gradients` are added to: of x's dtype, or f32 beside bf16. Where a BiasSums
/// exists, the sums for the biases may wait there.
Tensor feed_forward_backward(const Tensor& dy, const Tensor& x, const Tensor& hidden, const FeedForwardWeights& weights,
                             Activation activation, const Dropout& dropout, const FeedForwardWants& wants,
                             FeedForwardWeights& gradients);

}  // namespace heddle::kernels
