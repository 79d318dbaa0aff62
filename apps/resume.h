// The options of a run that goes on, and of one that begins with another's weights.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "apps/option_table.h"
#include "apps/options.h"

namespace heddle::app {

/// Takes the options of RUN/config.toml for all that were not given in `table`, which fills `settings`. Returns what is
/// different now, "lr = 0.001 (was 0.003)" each. UsageError when an option was given that a run cannot change (the model, the
/// vocabulary, what makes the batches), with both values; Error when there is no run.
std::vector<std::string> take_over_run(OptionTable& table, const std::filesystem::path& run);

/// Takes the model's and the vocabulary's options of RUN/config.toml for all that were not given. UsageError when others were
/// given (but for dropouts), naming each difference; Error when there is no run.
void take_over_model(OptionTable& table, const std::filesystem::path& run);

}  // namespace heddle::app
