// RUN/search.toml: the length penalty used to translate with a run when none is given. Chosen at the end of training, and by
// heddle evaluate --tune.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "apps/options/option_table.h"
#include "apps/translation/decoding/length_penalty.h"
#include "apps/translation/training/options.h"

namespace heddle::app {

inline constexpr const char* search_file_name = "search.toml";

/// Sets the length penalty to the run's, unless the option was given or the run has none. Returns whether it did. UsageError,
/// with file and line, when the file is not valid.
bool take_search_of(const std::filesystem::path& run, const OptionTable& table, DecodeOptions& decode);

/// Replaces RUN/search.toml. Error when it cannot be written.
void write_search(const std::filesystem::path& run, double length_penalty);

/// "length penalty 1.5: BLEU 34.12 (brevity penalty 0.982)".
std::string trial_text(const PenaltyTrial& trial, const Criterion& criterion);
/// Describes the best trial, the number of pairs, and the previous penalty if it differs.
std::string choice_text(const PenaltyChoice& choice, const Criterion& criterion, std::int64_t sentences);

/// Chooses the length penalty of a run whose training has just ended after `learned` pairs, repetitions counted. It uses so few
/// validation pairs that this takes a few per cent of the training's time, and stores and logs the choice with each trial.
/// `by_exact`: judges by lines that equal their reference, not by the metric that suits the text. Does nothing if there are too
/// few pairs to choose by. Returns false when `stop` returned true before a choice was made; nothing is stored then.
bool tune_search(const std::filesystem::path& run, const nn::Transformer& model, const Vocabularies& vocabularies,
                 const Corpus& validation, bool by_exact, std::int64_t learned, const Say& say, const std::function<bool()>& stop,
                 const Decoders& decoders);

}  // namespace heddle::app
