// RUN/search.toml: what is used to translate with a run when nothing else is given: the length penalty, chosen at the end of
// training and by heddle evaluate --tune, and whether U+2047 is never written, as the toolkit of an imported model does.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "apps/command/option_rows.h"
#include "apps/options/option_table.h"
#include "apps/translation/decoding/length_penalty.h"
#include "apps/translation/training/options.h"

namespace heddle::app {

inline constexpr const char* search_file_name = "search.toml";

struct RunSearch {
    std::optional<double> length_penalty = {};
    bool forbid_unknown = false;

    /// The options of a search with these settings.
    DecodeOptions options() const;
};

/// The contents of RUN/search.toml; nothing where there is no file. UsageError, with file and line, when the file is not valid.
RunSearch read_search(const std::filesystem::path& run);

/// Sets the length penalty to the run's, unless the option was given or the run has none, and forbids the unknown token if the
/// run does, unless --forbid-unknown was given. Returns whether it set the penalty. Errors as read_search.
bool take_search_of(const std::filesystem::path& run, const OptionTable& table, DecodeOptions& decode, bool& forbid_unknown);

/// Replaces RUN/search.toml. Error when it cannot be written.
void write_search(const std::filesystem::path& run, const RunSearch& search);

/// "length penalty 1.5: BLEU 34.12 (brevity penalty 0.982)".
std::string trial_text(const PenaltyTrial& trial, const Criterion& criterion);
/// Describes the best trial, the number of pairs, and the previous penalty if it differs.
std::string choice_text(const PenaltyChoice& choice, const Criterion& criterion, std::int64_t sentences);

/// Chooses the length penalty of a run whose training has just ended after `learned` pairs, repetitions counted; other settings
/// of its search.toml stay. It uses so few
/// validation pairs that this takes a few per cent of the training's time, and stores and logs the choice with each trial.
/// `by_exact`: judges by lines that equal their reference, not by the metric that suits the text. Does nothing if there are too
/// few pairs to choose by. Returns false when `stop` returned true before a choice was made; nothing is stored then.
bool tune_search(const std::filesystem::path& run, const nn::Transformer& model, const Vocabularies& vocabularies,
                 const Corpus& validation, bool by_exact, std::int64_t learned, const Say& say, const std::function<bool()>& stop,
                 const Decoders& decoders);

}  // namespace heddle::app
