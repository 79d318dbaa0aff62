// What stands below feed_forward.cpp: the vectorised CPU path and the CUDA side.
#pragma once

#include "kernels/device/declare.h"
#include "kernels/feed_forward/feed_forward.h"
#include "kernels/level.h"

namespace heddle::kernels {

// ---- the CPU path in f32, block by block (feed_forward_blocks.cpp)

/// As feed_forward_forward.
FeedForwardResult feed_forward_blocks(const Tensor& x, const FeedForwardWeights& weights, Activation activation,
                                      const Dropout& dropout, bool keep);
/// du [rows, d_ff]; with them h (for dW2) and dx where the pointers are given, and db1 += the sums of du.
Tensor feed_forward_backward_blocks(const Tensor& dy, const Tensor& hidden, const FeedForwardWeights& weights,
                                    Activation activation, const Dropout& dropout, Tensor* h, Tensor* dx, Tensor* db1);

// ---- its vectorised parts (feed_forward_fast.cpp)

/// h = dropout(gelu(u)); u, h [rows, cols], h may be u. Their first row is row first_row of the dropout.
HEDDLE_DECLARE_LEVELS(void gelu_dropout(const float* u, float* h, std::int64_t first_row, std::int64_t rows, std::int64_t cols,
                                        bool tanh_form, const Dropout& dropout))
/// du = dh * dropout factor * gelu'(u), in place; h [rows, cols] as gelu_dropout makes it, or null; column_sums [cols] += the
/// sums of du over the rows, in ascending order.
HEDDLE_DECLARE_LEVELS(void gelu_dropout_gradient(float* dh, const float* u, float* h, std::int64_t first_row, std::int64_t rows,
                                                 std::int64_t cols, bool tanh_form, const Dropout& dropout, float* column_sums))

/// du = dh * scale where h > 0, else 0, in place; column_sums += the sum over the rows. dh, h [rows, cols], column_sums [cols] or
/// null.
HEDDLE_DECLARE_LEVELS(void relu_dropout_gradient(float* dh, const float* h, std::int64_t rows, std::int64_t cols, float scale,
                                                 float* column_sums))

// ---- the CUDA side: arguments are checked and results allocated by feed_forward.cpp

/// h = dropout(act(u)); u, h [rows, d_ff] of one dtype, h may be u.
HEDDLE_CUDA_FUNCTION(void feed_forward_activate_cuda(const Tensor& u, Activation activation, const Dropout& dropout, Tensor& h))
/// du = dh * dropout factor * act'(u); `hidden` is what the forward pass kept: h for ReLU, u for GELU. du may be dh.
HEDDLE_CUDA_FUNCTION(void feed_forward_gradient_cuda(const Tensor& dh, const Tensor& hidden, Activation activation,
                                                     const Dropout& dropout, Tensor& du))

/// The widest row of x and y that feed_forward_fused takes.
inline constexpr std::int64_t kFusedWidth = 128;
/// y = dropout(act(x W1^T + b1)) W2^T + b2 in one kernel, for readers: the hidden tile never leaves the chip. bf16; x [rows,
/// d_model], W1 [d_ff, d_model], W2 [out, d_ff] with d_model and out up to kFusedWidth. Error otherwise. Work goes through
/// feed_forward_forward.
HEDDLE_CUDA_FUNCTION(Tensor feed_forward_fused(const Tensor& x, const FeedForwardWeights& weights, Activation activation,
                                               const Dropout& dropout))

}  // namespace heddle::kernels
