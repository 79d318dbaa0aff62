// Tests whether one system is better than another beyond chance: paired bootstrap resampling.
//
// A resample draws as many lines as the test set has, with replacement, and scores both systems on the same draw. With d the
// difference of the two scores on the test set and d_i on resample i,
//
//   p = (1 + #{i: |d_i| - mean |d| >= |d|}) / (1 + resamples)
//
// so a small p says that lines drawn at random hardly ever move the difference as far as the whole of it. That is sacrebleu 2.6's
// definition except for the sign: sacrebleu counts |d_i| - mean |d| > |d|, by which a system would differ from itself
// significantly. Sources: Koehn 2004, "Statistical significance tests for machine translation evaluation"; Riezler and Maxwell
// 2005, "On some pitfalls in automatic evaluation and significance testing for MT" (the shift by the mean); Post 2018
// (sacrebleu).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "apps/translation/metrics/metrics.h"

namespace heddle::app {

/// One system's score on the test set, and its spread over the resamples.
struct ResampledScore {
    double score = 0;
    double mean = 0;
    double low = 0;  ///< 95 of 100 resamples are in [low, high]
    double high = 0;
};

struct Comparison {
    Metric metric = Metric::bleu;
    ResampledScore first;
    ResampledScore second;
    double difference = 0;  ///< second - first
    double p = 1;
};

/// Compares two systems, line n of one with line n of the other, by each metric; all metrics use the same draws. The result
/// depends only on the statistics, `resamples` and `seed`, not on the number of threads. Error when there are no lines,
/// different numbers of lines, or no resamples.
std::vector<Comparison> paired_bootstrap(std::span<const LineStatistics> first, std::span<const LineStatistics> second,
                                         std::int64_t resamples, std::uint64_t seed);

}  // namespace heddle::app
