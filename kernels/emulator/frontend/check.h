// `heddle check`: builds CUDA C++, runs it on the emulated device in several orders of its threads, and decides.
#pragma once

#include <string>
#include <vector>

#include "kernels/emulator/frontend/findings.h"
#include "kernels/emulator/frontend/settings.h"

namespace heddle::emulator::frontend {

/// Checks the program of settings.sources. Violations go to stderr when they are found, and the verdict is its last line. Returns
/// the exit status: 0 without a violation, 3 with one, whatever the program returned, and 1 if the program failed by itself.
/// Refused if there is nothing that can be run; std::runtime_error for the machine's errors. `result`, if there is one, gets what
/// was found; then settings.trace has the first schedule, or the first one with a violation.
int check(const Settings& settings, Outcome* result = nullptr);

// Its command line, beside the table of options.h: what the compiler takes, and what follows --.

/// Moves what belongs to the compiler and to the program out of `words` and into `settings`; the rest is returned.
std::vector<std::string> without_compiler_options(const std::vector<std::string>& words, Settings& settings);

/// All orders may take as long as one. Refused for values that no check can have, such as the chip sm_10.
void complete_settings(Settings& settings);

/// Reads a whole command line, as heddle-check has it. False when --help was asked for: it was printed.
bool read_arguments(const std::vector<std::string>& words, Settings& settings);

}  // namespace heddle::emulator::frontend
