// The gated feed-forward network: the plain one with a second inner product that its activation is multiplied with.
//
//     forward    u = x W1^T + b1 = [g, v]                 g, v [rows, d_ff]: gate and up
//                h = (act(g) * v) * factor                factor: 0 where dropped, else the dropout's scale; 1 without dropout
//                y = h W2^T + b2
//     backward   dh = dy W2 * factor,  dW2 = dy^T h,  db2 = sum dy
//                dg = dh * v * act'(g),  dv = dh * act(g)
//                dx = [dg, dv] W1,  dW1 = [dg, dv]^T x,  db1 = sum [dg, dv]
//
// x [rows, d_model], W1 [2 d_ff, d_model] with the gate's rows first, W2 [d_model, d_ff]. Source: Shazeer, "GLU variants improve
// transformer" (2020), equations 5 and 6: SwiGLU with SiLU, GEGLU with GELU, ReGLU with ReLU. Kept for backward: u alone; h is
// computed again.
//
// On the CPU in f32, rows go through both products block by block, as in feed_forward.h, so that a block of u and h is still in
// the cache when the next step reads it; h is never written as a whole, u only where it is kept. In f64 the steps run one after
// another. On CUDA one pass stands between the two products in each direction.
#pragma once

#include "kernels/feed_forward/feed_forward.h"
#include "kernels/level.h"

namespace heddle::kernels {

/// `weights.w1` [2 d_ff, d_model] and `b1` [2 d_ff]: gate, then up. The result's `hidden` is u [rows, 2 d_ff], undefined unless
/// it was to be kept. f32 or f64, on CUDA bf16 too. Row r of the dropout counter is row r of h. Error when shapes, dtypes or
/// devices do not fit.
FeedForwardResult gated_feed_forward_forward(const Tensor& x, const FeedForwardWeights& weights, Activation gate,
                                             const Dropout& dropout, bool keep);
/// dx (undefined unless wanted); the wanted ones of `gradients` are added to: of x's dtype, or f32 beside bf16. Where a BiasSums
/// exists, the sums for the biases may wait there.
Tensor gated_feed_forward_backward(const Tensor& dy, const Tensor& x, const Tensor& hidden, const FeedForwardWeights& weights,
                                   Activation gate, const Dropout& dropout, const FeedForwardWants& wants,
                                   FeedForwardWeights& gradients);

// ---- the vectorised parts of the CPU path (gated_feed_forward_fast.cpp)

/// h = (act(g) * v) * factor; u [rows, 2 d_ff], h [rows, d_ff]. Their first row is row first_row of the dropout.
HEDDLE_DECLARE_LEVELS(void gate_rows(const float* u, float* h, std::int64_t first_row, std::int64_t rows, std::int64_t d_ff,
                                     Activation gate, const Dropout& dropout))
/// du = [dg, dv] from dh = dy W2 [rows, d_ff]; u, du [rows, 2 d_ff]. h [rows, d_ff] as gate_rows makes it, or null; column_sums
/// [2 d_ff] += the sums of du over the rows, in ascending order.
HEDDLE_DECLARE_LEVELS(void gate_gradient_rows(const float* dh, const float* u, float* du, float* h, std::int64_t first_row,
                                              std::int64_t rows, std::int64_t d_ff, Activation gate, const Dropout& dropout,
                                              float* column_sums))

// ---- the CUDA side (gated_feed_forward.cu): arguments are checked and results allocated by gated_feed_forward.cpp

/// h [rows, d_ff] of u [rows, 2 d_ff].
HEDDLE_CUDA_FUNCTION(void gate_cuda(const Tensor& u, Activation gate, const Dropout& dropout, Tensor& h))
/// du [rows, 2 d_ff] of dh [rows, d_ff] and u; h too, where the pointer is given.
HEDDLE_CUDA_FUNCTION(void gate_gradient_cuda(const Tensor& dh, const Tensor& u, Activation gate, const Dropout& dropout,
                                             Tensor& du, Tensor* h))

}  // namespace heddle::kernels
