// The limits that end a training: epochs, updates, minutes, patience.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "apps/translation/run/state.h"
#include "apps/translation/training/options.h"
#include "apps/translation/training/results.h"
#include "optim/schedule.h"

namespace heddle::app {

/// A limit that was reached.
struct TrainingEnd {
    EndReason reason;
    std::string limit;    ///< "20 epochs", "4 minutes", "3 validations without a better loss"
    std::string already;  ///< where a resumed run has reached it before: "the run is already at epoch 3, which is ..."
};

/// The limit that a run in this state, after so many seconds of training, has reached.
std::optional<TrainingEnd> training_end(const TrainingOptions& options, const TrainingState& state, double seconds);

/// A note on a training whose `updates` all lie in the warm-up, so that the learning rate does not reach its peak; empty when it
/// does, or has none.
std::string warmup_note(const optim::Schedule& schedule, std::int64_t updates);

/// How many seconds are left, going by the `seconds` so far, until the limit that comes first; infinite when nobody knows.
double seconds_left(const TrainingOptions& options, const TrainingState& state, double seconds);

}  // namespace heddle::app
