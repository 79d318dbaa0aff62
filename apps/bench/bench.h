// The measurements of `heddle bench`.
#pragma once

#include "apps/command/commands.h"

namespace heddle::app {

/// Trains for a number of updates and prints one JSON object.
int bench_train(Arguments arguments);
/// Runs every op forward and backward and prints its rates.
int bench_ops(Arguments arguments);
/// Runs each step of a teaching ladder of CUDA kernels, and the library's kernel, and prints how they compare: times, shares of
/// the machine's peak and registers on a GPU; launches, bytes and sectors on the emulated device.
int bench_ladder(Arguments arguments);

}  // namespace heddle::app
