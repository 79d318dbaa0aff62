// BLEU as sacrebleu 2.6 computes it by default: tokenizer 13a (tokenizer.h has others), exponential smoothing, no effective
// order; and its BLEU of a sentence, with effective order.
//
//   BLEU = 100 * BP * exp(1/4 sum_n log p_n),   BP = min(1, exp(1 - reference length / hypothesis length))
//
// p_n is the share of the hypotheses' n-grams that the references have, clipped per sentence, summed over the corpus. The k-th
// order in a row without a match counts as 1 / (2^k * total). Sources: Papineni et al. 2002, "BLEU: a method for automatic
// evaluation of machine translation"; Post 2018, "A call for clarity in reporting BLEU scores"; Chen and Cherry 2014 (smoothing
// method 3).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "apps/translation/metrics/tokenizer.h"

namespace heddle::app {

inline constexpr std::size_t bleu_orders = 4;  ///< the longest n-gram

/// Counts of a sentence or of a corpus, from which the score is computed.
struct BleuStatistics {
    std::array<std::int64_t, bleu_orders> matches{};  ///< clipped n-gram matches
    std::array<std::int64_t, bleu_orders> totals{};   ///< n-grams of the hypotheses
    std::int64_t hypothesis_length = 0;               ///< tokens
    std::int64_t reference_length = 0;

    BleuStatistics& operator+=(const BleuStatistics& other);
};

struct BleuScore : BleuStatistics {
    double score = 0;                              ///< 0..100
    std::array<double, bleu_orders> precisions{};  ///< 0..100, smoothed
    double brevity_penalty = 0;

    /// "BLEU = 37.69 68.1/45.0/31.2/21.9 (BP = 0.986 ratio = 0.986 hyp_len = 12863 ref_len = 13052)".
    std::string text() const;
};

BleuStatistics bleu_statistics(std::string_view hypothesis, std::string_view reference, const MetricOptions& options = {});

/// The BLEU of a corpus.
BleuScore corpus_bleu(const BleuStatistics& statistics);
/// The BLEU of one sentence: averages only over the orders for which the hypothesis is long enough (effective order), as
/// sacrebleu's sentence_bleu does.
BleuScore sentence_bleu(const BleuStatistics& statistics);

/// BLEU of a corpus with one reference per sentence. Every line counts, also empty ones. Error with both counts when they
/// differ.
BleuScore corpus_bleu(std::span<const std::string> hypotheses, std::span<const std::string> references,
                      const MetricOptions& options = {});

}  // namespace heddle::app
