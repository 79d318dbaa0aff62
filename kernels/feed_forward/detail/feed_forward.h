// Interfaces used by feed_forward.cpp: the vectorised CPU path and the CUDA side.
#pragma once

#include <optional>
#include <string>
#include <type_traits>

#include "core/error.h"
#include "kernels/device/declare.h"
#include "kernels/feed_forward/feed_forward.h"
#include "kernels/level.h"

namespace heddle::kernels {

// ---- what the plain network and the gated one share (feed_forward.cpp)

/// Checks the arguments of a backward pass; `b1` is what errors call the gradient of the first bias.
void check_backward(const char* op, const char* b1, const Tensor& dy, const Tensor& x, const Tensor& hidden,
                    const FeedForwardWeights& weights, const FeedForwardWants& wants, const FeedForwardWeights& gradients);

// ---- the CPU path in f32, block by block (feed_forward_blocks.cpp)

/// A thread's own memory for a block of `count` numbers that nobody keeps; the thread's next call may move it.
float* own_block(std::int64_t count);
/// feed_forward_forward by blocks of rows.
FeedForwardResult feed_forward_blocks(const Tensor& x, const FeedForwardWeights& weights, Activation activation,
                                      const Dropout& dropout, bool keep);
/// du [rows, d_ff]; with them h (for dW2) and dx where the pointers are given, and db1 += the sums of du.
Tensor feed_forward_backward_blocks(const Tensor& dy, const Tensor& hidden, const FeedForwardWeights& weights,
                                    Activation activation, const Dropout& dropout, Tensor* h, Tensor* dx, Tensor* db1);

// ---- its vectorised parts (feed_forward_fast.cpp)

/// h = dropout(act(u)) for a smooth act; u, h [rows, cols], h may be u. Their first row is row first_row of the dropout.
HEDDLE_DECLARE_LEVELS(void smooth_dropout(const float* u, float* h, std::int64_t first_row, std::int64_t rows, std::int64_t cols,
                                          Activation activation, const Dropout& dropout))
/// du = dh * dropout factor * act'(u), in place; h [rows, cols] as smooth_dropout makes it, or null; column_sums [cols] += the
/// sums of du over the rows, in ascending order.
HEDDLE_DECLARE_LEVELS(void smooth_dropout_gradient(float* dh, const float* u, float* h, std::int64_t first_row, std::int64_t rows,
                                                   std::int64_t cols, Activation activation, const Dropout& dropout,
                                                   float* column_sums))

/// du = dh * scale where h > 0, else 0, in place; column_sums += the sum over the rows. dh, h [rows, cols], column_sums [cols] or
/// null.
HEDDLE_DECLARE_LEVELS(void relu_dropout_gradient(float* dh, const float* h, std::int64_t rows, std::int64_t cols, float scale,
                                                 float* column_sums))

// ---- the CUDA side: arguments are checked and results allocated by feed_forward.cpp

/// h = dropout(act(u)); u, h [rows, d_ff] of one dtype, h may be u.
HEDDLE_CUDA_FUNCTION(void feed_forward_activate_cuda(const Tensor& u, Activation activation, const Dropout& dropout, Tensor& h))
/// du = dh * dropout factor * act'(u); `hidden` is what the forward pass kept: h for ReLU, otherwise u. du may be dh. Unless for
/// ReLU, h [rows, d_ff] is made again beside it, where the pointer is given.
HEDDLE_CUDA_FUNCTION(void feed_forward_gradient_cuda(const Tensor& dh, const Tensor& hidden, Activation activation,
                                                     const Dropout& dropout, Tensor& du, Tensor* h))

/// The rule by which activation and dropout are done in the product before them (forward) or behind them (backward) instead of a
/// pass of their own; `terms` is d_model, or out. README.md has its arithmetic.
bool feed_forward_has_epilogue(DType dtype, std::int64_t terms);
/// h = dropout(act(x W1^T + b1)), and u where the pointer is given. bf16; x [rows, d_model], W1 [d_ff, d_model], b1 [d_ff] or
/// undefined, u and h [rows, d_ff].
HEDDLE_CUDA_FUNCTION(void feed_forward_product_cuda(const Tensor& x, const Tensor& w1, const Tensor& b1, Activation activation,
                                                    const Dropout& dropout, Tensor* u, Tensor& h))
/// du = (dy W2) * dropout factor * act'(u), and h of a smooth act where the pointer is given. bf16; dy [rows, out], W2 [out,
/// d_ff], hidden, du and h [rows, d_ff].
HEDDLE_CUDA_FUNCTION(void feed_forward_product_gradient_cuda(const Tensor& dy, const Tensor& w2, const Tensor& hidden,
                                                             Activation activation, const Dropout& dropout, Tensor& du,
                                                             Tensor* h))

/// The widest row of x and y that the kernel without h in memory takes.
inline constexpr std::int64_t kFusedWidth = 128;
/// Calls start(std::integral_constant<int, W>()) with the width of the kernel that takes these rows of x and y: 64 or
/// kFusedWidth. Error beyond.
template <class Start>
void with_fused_width(const char* op, std::int64_t d_model, std::int64_t out, Start start) {
    if (d_model > kFusedWidth || out > kFusedWidth)
        fail(std::string(op) + ": rows of " + std::to_string(d_model) + " and " + std::to_string(out) +
             " numbers, wanted at most " + std::to_string(kFusedWidth));
    if (d_model <= 64 && out <= 64) return start(std::integral_constant<int, 64>());
    start(std::integral_constant<int, kFusedWidth>());
}

/// The rule by which feed_forward_forward takes it on CUDA; README.md has its arithmetic. It must not depend on the rows where a
/// row's bits must not (kernels/matmul/batch_invariant.h).
bool feed_forward_runs_fused(DType dtype, std::int64_t rows, std::int64_t d_model, std::int64_t d_ff, std::int64_t out,
                             bool keep);
/// Tiles of 16 rows that a warp takes, 1 or 2: two of them use the weights better, if there are rows for all multiprocessors. A
/// row's bits are the same with both.
int fused_tiles(std::int64_t rows);
/// feed_forward_forward in one kernel: only the kept part of the hidden tile leaves the chip. bf16; x [rows, d_model], W1 [d_ff,
/// d_model], W2 [out, d_ff] with d_model and out up to kFusedWidth, otherwise an Error. Tests and measurements give `tiles`
/// themselves, in place of fused_tiles(rows).
HEDDLE_CUDA_FUNCTION(FeedForwardResult feed_forward_fused_cuda(const Tensor& x, const FeedForwardWeights& weights,
                                                               Activation activation, const Dropout& dropout, bool keep,
                                                               std::optional<int> tiles = {}))
/// Its backward pass but for the parameters' gradients: returns du [rows, d_ff] and makes dx, and h (for dW2) where the pointer
/// is given. `hidden` is what forward kept.
HEDDLE_CUDA_FUNCTION(Tensor feed_forward_fused_backward_cuda(const Tensor& dy, const Tensor& hidden,
                                                             const FeedForwardWeights& weights, Activation activation,
                                                             const Dropout& dropout, Tensor* h, Tensor& dx,
                                                             std::optional<int> tiles = {}))
/// The forward pass in f32, by multiply-adds; nothing is kept.
HEDDLE_CUDA_FUNCTION(Tensor feed_forward_fused_f32_cuda(const Tensor& x, const FeedForwardWeights& weights, Activation activation,
                                                        const Dropout& dropout))

}  // namespace heddle::kernels
