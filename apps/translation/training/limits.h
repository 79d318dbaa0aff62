// The limits that end a training: epochs, updates, minutes, patience.
#pragma once

#include <optional>
#include <string>

#include "apps/translation/run/state.h"
#include "apps/translation/training/options.h"

namespace heddle::app {

/// A limit that was reached.
struct TrainingEnd {
    std::string limit;    ///< "20 epochs", "4 minutes", "3 validations without a better loss"
    std::string already;  ///< where a resumed run has reached it before: "the run is already at epoch 3, which is ..."
};

/// The limit that a run in this state, after so many seconds of training, has reached.
std::optional<TrainingEnd> training_end(const TrainingOptions& options, const TrainingState& state, double seconds);

}  // namespace heddle::app
