// Models and trainings that are known by name: the TOML files of this folder, which the build puts into the program.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/option_table.h"

namespace heddle::app {

/// A file NAME.toml of this folder: comments that describe the model, and options of heddle train.
struct Preset {
    std::string_view name;
    std::string_view text;
};

/// All of them, in the order of their names.
std::span<const Preset> presets();

/// A row --preset whose value, the name of a preset, goes to `name`. It stands in no configuration file: what comes of it does.
void add_preset_option(OptionTable& table, std::string& name);

/// Gives `table` the preset's options, but for those that were given before: the command line and --config go first. So do
/// options that take the place of a preset's (--updates that of its epochs). Options that only other commands know are passed
/// over. Nothing for an empty name.
void apply_preset(OptionTable& table, const std::string& name);

/// Parameters of one head's query, key and value.
struct HeadCount {
    std::int64_t projected = 0;  ///< three projections of all columns: 3 (d_model width + width)
    std::int64_t written = 0;    ///< what the write-up behind "explained" counts: 3 (width d_model + d_model), three layers from
                                 ///< the head's own columns to all of them, so that each bias is d_model wide
};
HeadCount explained_head(std::int64_t d_model, std::int64_t width);

}  // namespace heddle::app
