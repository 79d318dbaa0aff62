// The output of `heddle evaluate`: text, or one JSON object a line.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "apps/translation/metrics/bootstrap.h"
#include "apps/translation/metrics/metrics.h"

namespace heddle::app {

/// How a corpus is scored.
struct ScoredAs {
    MetricOptions options = {};
    bool chrf_first = false;  ///< in texts; the keys of JSON and the columns of a table stay in their order
};

/// Every score of a corpus with its signature, then the exact lines.
std::string score_text(const LineStatistics& corpus, const ScoredAs& as);

/// A table with a tab between columns and a header line: line, BLEU, chrF2, chrF2++, exact (1 or 0), and both lengths in BLEU's
/// tokens.
std::string sentence_table(std::span<const LineStatistics> lines);

/// The same as a JSON object; with the scores of each line when `sentences`.
std::string score_json(std::span<const LineStatistics> lines, const ScoredAs& as, bool sentences);

/// What a comparison was made from.
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
