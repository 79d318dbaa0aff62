// State of updates in device memory for a host that does not wait for them: losses, and whether an update failed.
//
// An update calls tally_losses() for each of its batches, measure_gradients() (kernels/gradient_norm), tally_update(), and then
// adam_step() with what was measured. As long as losses and norm are finite
//     sums  = sums + pending,   pending = 0,   updates = updates + 1
// The first loss or norm that is not sets `failed`, and from then on every measured norm becomes NaN, at which adam_step() leaves
// the weights as they are: they stay those before the first bad update until the host reads the tally.
#pragma once

#include <cstdint>

#include "core/tensor.h"
#include "kernels/cross_entropy/cross_entropy.h"
#include "kernels/device/declare.h"

namespace heddle::kernels {

/// A tally as the host reads it.
struct UpdateTally {
    LossStatistics losses;     ///< summed over the updates that were made: batch by batch, then update by update
    double gradient_norm = 0;  ///< of the last of them, before clipping
    std::int64_t updates = 0;  ///< how many were made since the tally was empty
    bool failed = false;       ///< the update after these was not finite, and it and all later ones were left out
    double failed_loss = 0;    ///< its first loss that was not finite, or else its loss
    double failed_norm = 0;    ///< and its norm
};

/// A tally of no updates, f64 [13], where the parameters lie.
Tensor empty_tally(Device device);
/// Adds the statistics f64 [4] of a loss op to the current update. The first loss that is not finite stays.
void tally_losses(Tensor& tally, const Tensor& statistics, Where where = Where::current());
/// Ends the update whose gradient was measured, f64 [2]: norm and factor. Sets the norm to NaN when this update or one before it
/// was not finite. Both bump the versions of what they change, and neither waits for the device.
void tally_update(Tensor& tally, Tensor& measured, Where where = Where::current());
/// Waits for the device when the tally lies on one.
UpdateTally read_tally(const Tensor& tally);

// ---- the layout of a tally's numbers

enum TallyPlace : int {
    kTallySums = 0,         // loss, nll, counted, correct of the updates that were made
    kTallyPending = 4,      // the same of the current update
    kTallyNorm = 8,         // of the last update that was made
    kTallyUpdates = 9,      // that were made
    kTallyFailed = 10,      // 1 after an update that was not finite
    kTallyFailedLoss = 11,  // of this update
    kTallyFailedNorm = 12,
    kTallySize = 13,
};

// ---- the CUDA side (update_tally.cu): arguments are checked by update_tally.cpp

HEDDLE_CUDA_FUNCTION(void tally_losses_cuda(Tensor& tally, const Tensor& statistics))
HEDDLE_CUDA_FUNCTION(void tally_update_cuda(Tensor& tally, Tensor& measured))

}  // namespace heddle::kernels
