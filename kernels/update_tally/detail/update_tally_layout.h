// Where a tally's numbers stand.
#pragma once

namespace heddle::kernels {

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

}  // namespace heddle::kernels
