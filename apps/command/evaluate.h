// The parts of `heddle evaluate`: runs, files of translations, and the output of both, text or one JSON object a line.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "apps/command/option_rows.h"
#include "apps/translation/distributed/ranks.h"
#include "apps/translation/metrics/bootstrap.h"
#include "apps/translation/metrics/metrics.h"

namespace heddle::app {

struct EvaluateOptions {
    std::string run;
    WeightsChoice weights;
    std::string test;
    std::string tune;
    std::string valid;
    std::string source;
    std::string target;
    std::optional<bool> tsv;  // as the run was trained
    std::optional<std::pair<std::int64_t, std::int64_t>> tsv_columns;
    std::string output;
    std::string results;
    std::string hypotheses;
    std::string reference;
    std::pair<std::string, std::string> compare;
    std::int64_t resamples = 1000;
    std::uint64_t seed = 1;
    std::optional<TextFormat> format;  // text for files of translations; test sets are detected
    bool replace_invalid = false;
    bool lowercase = false;
    Tokenizer tokenize = Tokenizer::automatic;
    bool sentences = false;
    bool json = false;
    DecodeOptions decode;
    bool forbid_unknown = false;
    MachineOptions machine;
    std::string config_file;
};

/// Translates a test set with a run and scores it.
void evaluate_run(const EvaluateOptions& options, Ranks* ranks);
/// Chooses the length penalty of a run and stores it there.
void tune_run(const EvaluateOptions& options, Ranks* ranks);
/// Scores a file of translations.
void evaluate_files(const EvaluateOptions& options);
/// Compares two files of translations.
void compare_files(const EvaluateOptions& options);

/// How a corpus is scored.
struct ScoredAs {
    MetricOptions options = {};
    bool chrf_first = false;  ///< in texts; the keys of JSON and the columns of a table stay in their order
};

/// How to score by these references; says so where that is not BLEU with 13a's tokens.
ScoredAs scored_as(const EvaluateOptions& options, const std::vector<std::string>& references);
/// Prints the scores of these translations in the form that the options ask for.
void print_scores(const std::vector<std::string>& hypotheses, const std::vector<std::string>& references, const ScoredAs& as,
                  const EvaluateOptions& options);

/// Every score of a corpus with its signature, then the exact lines.
std::string score_text(const LineStatistics& corpus, const ScoredAs& as);

/// A table with a tab between columns and a header line: line, BLEU, chrF2, chrF2++, exact (1 or 0), and both lengths in BLEU's
/// tokens.
std::string sentence_table(std::span<const LineStatistics> lines);

/// The same as a JSON object; with the scores of each line when `sentences`.
std::string score_json(std::span<const LineStatistics> lines, const ScoredAs& as, bool sentences);

/// The input of a comparison.
struct ComparedSystems {
    std::pair<std::string, std::string> names;
    std::int64_t lines = 0;
    std::int64_t resamples = 0;
    std::uint64_t seed = 0;
    ScoredAs as = {};
};

/// A table: two rows for each metric, then the signatures.
std::string comparison_text(const ComparedSystems& systems, std::span<const Comparison> comparisons);
/// The same as a JSON object.
std::string comparison_json(const ComparedSystems& systems, std::span<const Comparison> comparisons);

}  // namespace heddle::app
