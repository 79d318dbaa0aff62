// `heddle lab` and `heddle chapter` are a separate program, heddle-lab beside heddle: a translator needs neither.
#pragma once

#include <string_view>

#include "apps/command/commands.h"

namespace heddle::app {

/// Becomes `heddle-lab COMMAND ARGUMENTS...`. Returns only by an Error that says how to build heddle-lab when it is missing.
int run_lab_program(std::string_view command, Arguments arguments);

}  // namespace heddle::app
