// The best options for each generated task.
#pragma once

#include <string>

#include "apps/options/option_table.h"
#include "apps/tasks/tasks.h"

namespace heddle::app {

/// Gives `table` the options, including the vocabulary's, in which the task differs from the defaults, except those that the
/// user gave. Returns what it set, as text: "--epochs 10 --vocab-size 200".
std::string apply_recipe(OptionTable& table, const TaskCorpus& task);

}  // namespace heddle::app
