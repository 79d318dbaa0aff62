// Commands that are separate programs in heddle's folder: heddle-lab for `heddle lab`, `heddle learn`, `heddle check` and
// `heddle explain FILE.cu`, which a translator does not need, and heddle-explain, whose kernels report every memory access.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "apps/command/commands.h"

namespace heddle::app {

/// The executable file of this process.
std::filesystem::path this_program();
/// The build folder that contains a program, or "BUILD_FOLDER" for an installed one; for messages.
std::string build_folder_of(const std::filesystem::path& program);
/// Becomes `heddle-lab COMMAND ARGUMENTS...`. Returns only by an Error, with build instructions, when heddle-lab is missing.
int run_lab_program(std::string_view command, Arguments arguments);
/// Becomes `FILE COMMAND ARGUMENTS...`, where FILE is in this program's folder. `how_to_build`: the Error's words after "cmake",
/// with {} for the build folder.
int run_sibling_program(std::string_view file, std::string_view command, Arguments arguments, std::string_view how_to_build);

}  // namespace heddle::app
