// The last linear map and the loss after it, fused: the logits of a big vocabulary are never all in memory.
//
//     forward    logits = x W^T + b,  loss = sum over the counted rows of cross_entropy(logits, target) / divisor
//     backward   dlogits = (softmax(logits) - q) / divisor,  dx = dlogits W,  dW = dlogits^T x,  db = sum of dlogits
//
// x [rows, d_model], W [V, d_model], targets i32 [rows]; q is the smoothed target distribution (kernels/cross_entropy). The
// rows go through in chunks: a chunk's logits are made, turned into dlogits in place and used up for dx and dW at once, in the
// forward pass; backward only scales by the gradient of the loss. Sums over rows run in ascending order (db's in parts of a
// chunk), so threads leave no trace in the bits. On CUDA the host waits for nothing: the targets may lie there, the divisor is
// counted there, and backward reads the loss's gradient there.
//
// One row's loss and dlogits are shared with cross_entropy: kernels/cross_entropy/cross_entropy_row.h on the CPU,
// cross_entropy_rows_cuda on CUDA.
#pragma once

#include "core/tensor.h"
#include "kernels/cross_entropy/cross_entropy.h"
#include "kernels/device/declare.h"

namespace heddle::kernels {

/// Which gradients the forward pass is to make.
struct LinearCrossEntropyWants {
    bool x = false, weight = false, bias = false;
};

struct LinearCrossEntropyResult {
    Tensor loss;                ///< a scalar; 0 when no row counts
    Tensor dx, dweight, dbias;  ///< for a loss gradient of 1; undefined unless wanted. For bf16 inputs the last two are f32
    Tensor statistics;          ///< f64 [4], loss_statistics() reads it
};

/// f32 or f64, on CUDA bf16 too; `bias` [V] may be undefined. The targets lie on the CPU or with x. Error when a counted target
/// lies outside [0, V); when the targets lie on the device, a kernel reports it.
LinearCrossEntropyResult linear_cross_entropy(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& targets,
                                              const LossOptions& options, const LinearCrossEntropyWants& wants);

/// target += dloss * gradient, for dx, dweight or dbias above; dloss is a scalar on their device. All of one dtype; on CUDA each
/// may be f32 or bf16.
void linear_cross_entropy_backward(const Tensor& gradient, const Tensor& dloss, Tensor& target);

// ---- the CUDA side: linear_cross_entropy.cu has what stands between the products of a chunk, linear_cross_entropy_chunks.cpp
// puts them together

/// target += dloss * gradient, elementwise; dloss a scalar, read on the device. All of one dtype, or each of them f32 or bf16.
HEDDLE_CUDA_FUNCTION(void add_scaled_cuda(const Tensor& gradient, const Tensor& dloss, Tensor& target))

/// The whole op on the device. Checked arguments; targets on the device. `chunk_rows` 0: loss_chunk_rows().
LinearCrossEntropyResult linear_cross_entropy_chunks(const Tensor& x, const Tensor& weight, const Tensor& bias,
                                                     const Tensor& targets, const LossOptions& options,
                                                     const LinearCrossEntropyWants& wants, std::int64_t chunk_rows = 0);
/// Logits in memory at a time: most of an A100's second-level cache (40 MB; an H100's has 50), where the row kernel and both
/// products of the backward pass find them again.
inline constexpr std::int64_t kChunkBytes = std::int64_t{32} << 20;

/// How many rows go through at a time, a multiple of 128. It depends on the shape alone, and so do the bits.
///
/// Every chunk reads and writes all of dW. A dW that stays in the cache costs little, and then the chunk's logits stay there,
/// too: kChunkBytes. A large one comes from memory, 8 V d bytes each time in f32: at V 37,000 and d 512 as much as the logits of
/// 400 rows move (10 bytes each in bf16, README.md). Then there are at most kMostWeightPasses chunks, and their logits are
/// passed through memory instead, up to kMostChunkBytes.
std::int64_t loss_chunk_rows(std::int64_t rows, std::int64_t vocabulary, std::int64_t d_model, DType dtype);
inline constexpr std::int64_t kCachedWeightBytes = std::int64_t{16} << 20;
inline constexpr std::int64_t kMostWeightPasses = 8;
inline constexpr std::int64_t kMostChunkBytes = std::int64_t{512} << 20;

}  // namespace heddle::kernels
