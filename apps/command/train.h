// `heddle train` in the process of a caller who looks on (apps/python).
#pragma once

#include <functional>

#include "apps/command/commands.h"
#include "apps/translation/training/trainer.h"

namespace heddle::app {

/// What the caller of a training wants to know and decide.
struct TrainWatch {
    TrainingListener listener = {};
    std::function<bool()> stop = {};  ///< asked after each update: true saves and stops
    bool quiet = false;               ///< no log lines on stderr
};

/// As train_command(arguments); the status after `stop` is 128.
int train_command(Arguments arguments, const TrainWatch& watch);

}  // namespace heddle::app
