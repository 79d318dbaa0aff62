// Programs for files that have kernels and no main().
#pragma once

#include <vector>

#include "kernels/emulator/frontend/build.h"
#include "kernels/emulator/frontend/settings.h"

namespace heddle::emulator::frontend {

/// Adds a main() that launches settings.kernel with settings.arguments to the unit that has the kernel. Refused, with a command
/// line that is ready to be used, where a name or a value is missing.
void add_harness(std::vector<SourceUnit>& units, const Settings& settings);

}  // namespace heddle::emulator::frontend
