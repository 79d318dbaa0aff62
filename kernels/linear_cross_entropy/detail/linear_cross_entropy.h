// The CUDA side of linear + cross entropy: what stands between the products of a chunk. linear_cross_entropy_chunks.cpp puts them
// together.
#pragma once

#include "kernels/device/declare.h"
#include "kernels/linear_cross_entropy/linear_cross_entropy.h"

namespace heddle::kernels {

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
/// 400 rows move (10 bytes each in bf16, ../README.md). Then there are at most kMostWeightPasses chunks, and their logits are
/// passed through memory instead, up to kMostChunkBytes.
std::int64_t loss_chunk_rows(std::int64_t rows, std::int64_t vocabulary, std::int64_t d_model, DType dtype);
inline constexpr std::int64_t kCachedWeightBytes = std::int64_t{16} << 20;
inline constexpr std::int64_t kMostWeightPasses = 8;
inline constexpr std::int64_t kMostChunkBytes = std::int64_t{512} << 20;

}  // namespace heddle::kernels
