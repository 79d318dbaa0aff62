// The CUDA side of linear + cross entropy: what stands between the products of a chunk. linear_cross_entropy_chunks.cpp puts them
// together.
#pragma once

#include "kernels/device/declare.h"
#include "kernels/linear_cross_entropy/linear_cross_entropy.h"

namespace heddle::kernels {

/// target += dloss * gradient, elementwise; dloss a scalar, read on the device. All of one dtype, or each of them f32 or bf16.
HEDDLE_CUDA_FUNCTION(void add_scaled_cuda(const Tensor& gradient, const Tensor& dloss, Tensor& target))

/// The whole op on the device. Checked arguments; targets on the device. `chunk_rows` 0: as many rows as fill kChunkBytes.
LinearCrossEntropyResult linear_cross_entropy_chunks(const Tensor& x, const Tensor& weight, const Tensor& bias,
                                                     const Tensor& targets, const LossOptions& options,
                                                     const LinearCrossEntropyWants& wants, std::int64_t chunk_rows = 0);
/// Logits in memory at a time: most of an A100's second-level cache (40 MB; an H100's has 50), where the row kernel and both
/// products of the backward pass find them again.
inline constexpr std::int64_t kChunkBytes = std::int64_t{32} << 20;

}  // namespace heddle::kernels
