// The options of a resumed run, of one that starts from another run's weights, and of one with a prepared text.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "apps/options/option_table.h"
#include "apps/translation/prepared/prepared_text.h"
#include "apps/translation/run/state.h"
#include "apps/translation/training/options.h"

namespace heddle::app {

/// The options that a save records: all of config.toml except the files, which are identified by digests.
OptionTexts options_to_save(const OptionTable& table);

/// Takes the options of RUN/config.toml for all that were not given in `table`. Returns what has changed since the run was
/// `saved`, each as "lr = 0.001 (was 0.003)"; an option that the save lacks is compared with config.toml. UsageError, with both
/// values, when an option was given that a run cannot change (the model, the vocabulary, what makes the batches), and when an
/// option that affects learning was not given, but edited in config.toml. Error when there is no run.
std::vector<std::string> take_over_run(OptionTable& table, const std::filesystem::path& run, const OptionTexts& saved);

/// Takes the model's and the vocabulary's options of RUN/config.toml for all that were not given. UsageError, naming each
/// difference, when others were given (except for dropouts); Error when there is no run.
void take_over_model(OptionTable& table, const std::filesystem::path& run);

/// True for the options of `heddle train` that `heddle prepare` fixes in a text: those of the vocabulary and the languages.
bool is_decided_by_text(const Option& option);
/// The values, as TOML, that a prepared text records for these options. One file with two columns has no languages.
std::map<std::string, std::string> decided_options(const OptionTable& table);
/// Takes a prepared text's options (only the languages if the vocabulary is a run's) for all that were not given. UsageError,
/// with each difference, when others were given; Error when the text, which is untrusted, sets any other option.
void take_over_prepared(OptionTable& table, const PreparedText& text, bool vocabulary);

}  // namespace heddle::app
