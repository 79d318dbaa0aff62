// The CUDA side of cross_entropy.h, in the pieces that the fused linear + cross entropy needs, too. Arguments are checked by the
// callers. Nothing here waits for the device: counts, divisor and statistics stay there.
#pragma once

#include "kernels/cross_entropy/cross_entropy.h"
#include "kernels/device/declare.h"

namespace heddle::kernels {

/// What the summed loss is divided by, and the number of counted targets: f64 [2] on the device. A counted target outside [0,
/// vocabulary) stops the kernel.
HEDDLE_CUDA_FUNCTION(Tensor loss_divisor_cuda(const Tensor& targets, std::int64_t vocabulary, const LossOptions& options))

/// The losses of the rows of logits [rows, V]: `losses` f64 [3, rows] becomes each row's loss, nll and whether it is correct (1
/// or 0), zeros where the target is ignored. `dlogits` (of the logits' shape and dtype, and possibly the logits themselves)
/// becomes the gradient for dloss / divisor[0]; `dloss` is a scalar of the logits' dtype, undefined: 1. Either result may be
/// undefined. A chunk of rows writes its part of all rows' losses, from `first_row` on.
HEDDLE_CUDA_FUNCTION(void cross_entropy_rows_cuda(const Tensor& logits, const Tensor& targets, const LossOptions& options,
                                                  const Tensor& divisor, const Tensor& dloss, Tensor losses, Tensor dlogits,
                                                  std::int64_t first_row = 0))

/// Sums `losses` f64 [3, rows] in a fixed order: `statistics` f64 [4] (see statistics_tensor), and `loss`, a scalar of any
/// floating-point dtype, the sum of the losses over divisor[0].
HEDDLE_CUDA_FUNCTION(void loss_totals_cuda(const Tensor& losses, const Tensor& divisor, Tensor& statistics, Tensor& loss))

}  // namespace heddle::kernels
