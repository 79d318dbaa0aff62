// What `heddle check FILE.cu` and `heddle explain FILE.cu` have in common.
#pragma once

#include <string>
#include <vector>

#include "apps/command/commands.h"
#include "apps/options/option_table.h"
#include "kernels/emulator/frontend/settings.h"

namespace heddle::app {

/// The table of `heddle COMMAND FILE.cu`: its usage, with `remarks` below it, and its files.
OptionTable program_table(const std::string& command, const char* summary, const char* remarks,
                          emulator::frontend::Settings& settings);
/// Adds the options of kernels/emulator/frontend/options.h with these names, or all of them if there are no names.
void add_check_options(OptionTable& table, emulator::frontend::Settings& settings, const std::vector<std::string>& names = {});
/// Reads the words, of which some are the compiler's or the program's, and fills the rest of the settings. False after --help.
bool parse_program(OptionTable& table, Arguments words, emulator::frontend::Settings& settings);

}  // namespace heddle::app
