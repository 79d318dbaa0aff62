// The command line of `heddle check` as far as it is not a table of options: what the compiler takes, and what follows --.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kernels/emulator/frontend/settings.h"

namespace heddle::emulator::frontend {

/// Moves what belongs to the compiler and to the program out of `words` and into `settings`; the rest is returned.
std::vector<std::string> without_compiler_options(const std::vector<std::string>& words, Settings& settings);

/// Refused for values that no check can have, such as the chip sm_10.
void check_settings(const Settings& settings);

/// Reads a whole command line, as heddle-check has it. False when --help was asked for: it was printed.
bool read_arguments(const std::vector<std::string>& words, Settings& settings);

}  // namespace heddle::emulator::frontend
