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

/// Measured peak rates of this machine, for comparison with the ops' rates.
struct MachineRates {
    double gflops = 0;          ///< f32 fused multiply-adds on all threads, two operations each, at the level in use
    double copy_gb_second = 0;  ///< bytes read and written by a copy far larger than the caches, on all threads
};

/// Takes about half a second.
MachineRates measure_machine();

}  // namespace heddle::app
