// The two measurements of `heddle bench`.
#pragma once

#include "apps/command/commands.h"

namespace heddle::app {

/// Trains for a number of updates and prints one JSON object.
int bench_train(Arguments arguments);
/// Runs every op forward and backward and prints its rates.
int bench_ops(Arguments arguments);

}  // namespace heddle::app
