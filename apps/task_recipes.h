// How each generated task is learned best.
#pragma once

#include <span>
#include <string_view>

#include "apps/option_table.h"
#include "apps/options.h"
#include "apps/tasks/tasks.h"

namespace heddle::app {

/// An option, as it would stand on the command line.
struct RecipeSetting {
    const char* option;
    const char* value;
};

/// The settings in which the task differs from the defaults.
std::span<const RecipeSetting> task_recipe(std::string_view task);

/// Gives the options of the recipe and of the task's vocabulary to `table`, but for those that the user gave. Returns what it
/// set, as text: "--epochs 10 --vocab-size 200".
std::string apply_recipe(OptionTable& table, const TaskCorpus& task);

}  // namespace heddle::app
