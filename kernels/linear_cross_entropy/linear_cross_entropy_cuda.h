// The CUDA side of linear + cross entropy: what stands between the products of a chunk. linear_cross_entropy_chunks.cpp puts them
// together.
#pragma once

#include "kernels/device/declare.h"
#include "kernels/linear_cross_entropy/linear_cross_entropy.h"

namespace heddle::kernels {

/// divisor f64 [1] = what the summed loss is divided by, from the targets i32 [rows] on the device; statistics f64 [4]: the
/// counted ones. A counted target outside [0, vocabulary) stops the kernel with a message.
HEDDLE_CUDA_FUNCTION(void count_targets_cuda(const Tensor& targets, std::int64_t vocabulary, const LossOptions& options,
                                             Tensor& statistics, Tensor& divisor))
/// Turns logits [rows, vocabulary] (f32, bf16, f64) into losses f64 [rows, 3] (loss, -log p(target), 1 where the target is the
/// first largest logit; zeros where ignored) and, when wanted, into dlogits in place: d(sum of losses / divisor) / d logits.
HEDDLE_CUDA_FUNCTION(void chunk_losses_cuda(Tensor& logits, const Tensor& targets, const LossOptions& options,
                                            const Tensor& divisor, bool want_gradient, Tensor& losses))
/// statistics f64 [4] = the sums of losses [rows, 3], beside the count, which stays; loss [] of any dtype = summed loss /
/// divisor.
HEDDLE_CUDA_FUNCTION(void total_losses_cuda(const Tensor& losses, const Tensor& divisor, Tensor& statistics, Tensor& loss))
/// target += dloss * gradient, elementwise; dloss a scalar of target's dtype, read on the device; gradient of target's dtype, or
/// f32 for a bf16 target.
HEDDLE_CUDA_FUNCTION(void add_scaled_cuda(const Tensor& gradient, const Tensor& dloss, Tensor& target))

/// The whole op on the device. Checked arguments; targets on the device. `chunk_rows` 0: as many rows as fill kChunkBytes.
LinearCrossEntropyResult linear_cross_entropy_chunks(const Tensor& x, const Tensor& weight, const Tensor& bias,
                                                     const Tensor& targets, const LossOptions& options,
                                                     const LinearCrossEntropyWants& wants, std::int64_t chunk_rows = 0);
/// Logits in memory at a time: most of an A100's second-level cache (40 MB; an H100's has 50), where the row kernel and both
/// products of the backward pass find them again.
inline constexpr std::int64_t kChunkBytes = std::int64_t{32} << 20;

}  // namespace heddle::kernels
