// `heddle train` in the process of a caller who looks on (apps/python).
#pragma once

#include <functional>
#include <string_view>

#include "apps/command/commands.h"
#include "apps/translation/training/trainer.h"

namespace heddle::app {

/// Callbacks of a training, and its stop. With them no signal ends the process.
struct TrainWatch {
    TrainingListener listener = {};
    std::function<bool()> stop = {};                    ///< asked after each update: true saves and stops
    bool quiet = false;                                 ///< no log lines on stderr
    std::function<void(std::string_view)> warned = {};  ///< gets the notes that begin with "warning: "
};

/// As train_command(arguments); the status after `stop` is 128.
int train_command(Arguments arguments, const TrainWatch& watch);

}  // namespace heddle::app
