// Commands that are programs of their own, beside heddle: heddle-lab for `heddle lab`, `heddle chapter` and `heddle learn`, which
// a translator does not need, and heddle-explain, whose kernels are compiled with every access watched.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "apps/command/commands.h"

namespace heddle::app {

/// The file that this process runs.
std::filesystem::path this_program();
/// The build folder that a program lies in, or "BUILD_FOLDER" for an installed one: for messages.
std::string build_folder_of(const std::filesystem::path& program);
/// Becomes `heddle-lab COMMAND ARGUMENTS...`. Returns only by an Error that says how to build heddle-lab when it is missing.
int run_lab_program(std::string_view command, Arguments arguments);
/// Becomes `FILE COMMAND ARGUMENTS...`, a program in the folder of this one. `how_to_build`: the words behind "cmake" in the
/// Error, with {} for the build folder.
int run_program_beside(std::string_view file, std::string_view command, Arguments arguments, std::string_view how_to_build);

}  // namespace heddle::app
