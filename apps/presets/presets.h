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

/// A row --preset whose value, the name of a preset, goes to `name`. It is not written to configuration files; its options are.
Option& add_preset_option(OptionTable& table, std::string& name);

/// Gives `table` the preset's options, except those that were given already: the command line and --config override it. So do
/// options that replace a preset's (--updates that of its epochs, --task that of its task's vocabulary, --schedule
/// that of a rate which is noam's factor). Options of other commands are skipped. Does nothing for an empty name.
void apply_preset(OptionTable& table, const std::string& name);

/// Applies the preset, without the options of its vocabulary unless `vocabulary`, and then does `work`, whose status it returns.
/// An OptionError of either about an option that the preset set names the preset, because the user did not give the option.
int with_preset(OptionTable& table, const std::string& name, const std::function<int()>& work, bool vocabulary = true);

}  // namespace heddle::app
