// Named models and trainings: the TOML files of this folder, which are compiled into the program.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "apps/options/option_table.h"

namespace heddle::app {

/// A file NAME.toml of this folder: comments that describe the model, and options of heddle train.
struct Preset {
    std::string_view name;
    std::string_view text;
};

/// All of them, in the order of their names.
std::span<const Preset> presets();

/// Adds an option --preset, whose value goes to `name`. It is not written to configuration files; the options it sets are.
Option& add_preset_option(OptionTable& table, std::string& name);

/// Gives `table` the preset's options, except those already given: the command line and --config override it. An option that
/// replaces one of the preset's also does (--updates its epochs, --task its task's vocabulary, --schedule a rate that is noam's
/// factor). Options of other commands are skipped. Does nothing for an empty name.
void apply_preset(OptionTable& table, const std::string& name);

/// Applies the preset, without its vocabulary's options unless `vocabulary`, then returns work(). If either throws an
/// OptionError about an option that the preset set, the error names the preset, since the user did not give the option.
int with_preset(OptionTable& table, const std::string& name, const std::function<int()>& work, bool vocabulary = true);

}  // namespace heddle::app
