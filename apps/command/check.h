// What `heddle check FILE.cu` and `heddle explain FILE.cu` have in common.
#pragma once

#include "apps/command/commands.h"
#include "apps/options/option_table.h"
#include "kernels/emulator/frontend/settings.h"

namespace heddle::app {

/// --kernel, --grid, --block, --arg, ...: for files without main().
void add_launch_options(OptionTable& table, emulator::frontend::Settings& settings);
/// Reads the words, of which some are the compiler's or the program's, and fills the rest of the settings. False after --help.
bool parse_program(OptionTable& table, Arguments words, emulator::frontend::Settings& settings);

}  // namespace heddle::app
