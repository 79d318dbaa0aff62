// Cross entropy of logits with label smoothing and ignored targets.
//
// Szegedy et al. 2016, "Rethinking the Inception architecture", section 7; Vaswani et al. 2017, section 5.4. For a row x of V
// logits, target t and smoothing e the target distribution is q_j = (1 - e) [j = t] + e / V. With d_j = x_j - max_i x_i, which
// keeps logits of 1e4 safe, and L = log sum_j exp d_j:
//     log p_j = d_j - L
//     nll     = -log p_t
//     loss    = -sum_j q_j log p_j = L - (1 - e) d_t - e / V sum_j d_j         (because sum_j q_j = 1)
// A logit of at most kForbiddenLogit is that of a token which may not be written (an output bias of -1e9 forbids one). It takes
// no part in the smoothing, which would cost e / V times 1e9: V and the sum count the others alone, and its q_j is 0 unless it is
// the target.
// Backward:
//     dx_j    = (p_j - q_j) dloss
// The op's loss is the sum over the rows, divided by `divisor`. Rows with an ignored target do not count and get zeros.
//
// Saved for backward: the logits and the targets.
#pragma once

#include <cstdint>

#include "core/tensor.h"
#include "kernels/device/declare.h"

namespace heddle::kernels {

/// Logits up to here take no part in the smoothing. Learned logits stay far above it.
inline constexpr double kForbiddenLogit = -1e8;

struct LossOptions {
    double label_smoothing = 0;     ///< e: the target distribution is (1 - e) one-hot + e / V
    std::int32_t ignore = -1;       ///< targets with this value count nothing and get zero gradients
    double divisor = 0;             ///< the summed loss is divided by this; 0: by the number of counted targets (the mean)
    Tensor divisor_in_memory = {};  ///< f64 [] above 0 where the logits lie: takes the place of `divisor`; undefined: not used
};

/// Statistics of a loss op besides the loss.
struct LossStatistics {
    double loss = 0;           ///< summed smoothed loss
    double nll = 0;            ///< summed -log p(target), without smoothing
    std::int64_t counted = 0;  ///< targets that were not ignored
    std::int64_t correct = 0;  ///< of these, how many have the largest logit (the first of several equal ones)
};

/// Error that names `op` when the targets are not i32 [rows], or an option is out of range.
void check_targets(const char* op, const Tensor& targets, std::int64_t rows, const LossOptions& options);
/// How many of the targets i32 [rows], on the CPU, count. Error that names `op` when the targets have another shape or dtype, a
/// counted one lies outside [0, vocabulary), or an option is out of range.
std::int64_t count_targets(const char* op, const Tensor& targets, std::int64_t rows, std::int64_t vocabulary,
                           const LossOptions& options);
/// The divisor of the summed loss: the options' divisor, or `counted`; 1 if both are 0.
double loss_divisor(const LossOptions& options, std::int64_t counted);

/// The statistics as an op gives them, f64 [4] (loss, nll, counted, correct) on the op's device: computed without
/// synchronisation. Exact: the counts stay below 2^53.
Tensor statistics_tensor(const LossStatistics& statistics);
/// Reads them; waits for the device when they lie on one.
LossStatistics loss_statistics(const Tensor& statistics);

struct CrossEntropyResult {
    Tensor loss;        ///< a scalar (shape []) of the logits' dtype; 0 when every target is ignored
    Tensor statistics;  ///< f64 [4], see statistics_tensor
};

/// logits [rows, V] f32 or f64, on CUDA bf16 as well, targets i32 [rows]. On CUDA a target outside the vocabulary traps the
/// kernel: the next call that waits for the device reports the error.
CrossEntropyResult cross_entropy_forward(const Tensor& logits, const Tensor& targets, const LossOptions& options);

/// dlogits [rows, V] for dloss, a scalar.
Tensor cross_entropy_backward(const Tensor& dloss, const Tensor& logits, const Tensor& targets, const LossOptions& options);

// ---- the CUDA side (cross_entropy.cu), in the pieces that the fused linear + cross entropy needs, too. Arguments are checked by
// the callers. Nothing here waits for the device: counts, divisor and statistics stay there.

/// The divisor of the summed loss, and the number of counted targets: f64 [2] on the device. A counted target outside [0,
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
