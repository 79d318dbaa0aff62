// The sub-commands. Each reads its arguments (without its own name), prints results on stdout and everything else on stderr, and
// returns the exit status. UsageError and Error go to main.
#pragma once

#include <span>

namespace heddle::app {

using Arguments = std::span<const char* const>;

int evaluate_command(Arguments arguments);
int version_command();

}  // namespace heddle::app
