// `heddle check`: builds CUDA C++, runs it on the emulated device in several orders of its threads, and decides.
#pragma once

#include "kernels/emulator/frontend/settings.h"

namespace heddle::emulator::frontend {

/// Checks the program of settings.sources. Violations go to stderr when they are found, and the verdict is its last line. Returns
/// the exit status: 0 without a violation, 3 with one, whatever the program returned, and 1 if the program failed by itself.
/// Refused if there is nothing that can be run; std::runtime_error for the machine's errors.
int check(const Settings& settings);

}  // namespace heddle::emulator::frontend
