// `heddle lab` and `heddle chapter` are a separate program, heddle-lab beside heddle: a translator needs neither. So is
// `heddle explain`: its kernels are compiled with every access watched.
#pragma once

#include <string_view>

#include "apps/command/commands.h"

namespace heddle::app {

/// Becomes `heddle-lab COMMAND ARGUMENTS...`. Returns only by an Error that says how to build heddle-lab when it is missing.
int run_lab_program(std::string_view command, Arguments arguments);
/// The same for the program `file` beside this one. `how_to_build`: the words behind "cmake" in the Error, with {} for the build
/// folder.
int run_program_beside(std::string_view file, std::string_view command, Arguments arguments, std::string_view how_to_build);

}  // namespace heddle::app
