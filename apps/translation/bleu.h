// BLEU as sacrebleu 2.6 computes it by default: tokenizer 13a, exponential smoothing, no effective order.
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
#include <vector>

namespace heddle::app {

struct BleuScore {
    double score = 0;                       ///< 0..100
    std::array<double, 4> precisions{};     ///< 0..100, smoothed
    std::array<std::int64_t, 4> matches{};  ///< clipped n-gram matches
    std::array<std::int64_t, 4> totals{};   ///< n-grams of the hypotheses
    double brevity_penalty = 0;
    std::int64_t hypothesis_length = 0;  ///< tokens
    std::int64_t reference_length = 0;
    bool lowercase = false;

    /// "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:heddle-0.1.0".
    std::string signature() const;
    /// "BLEU = 37.69 68.1/45.0/31.2/21.9 (BP = 0.986 ratio = 0.986 hyp_len = 12863 ref_len = 13052)".
    std::string text() const;
};

/// BLEU of a corpus with one reference per sentence. Every line counts, empty ones too. Error that names both counts when they
/// differ.
BleuScore corpus_bleu(std::span<const std::string> hypotheses, std::span<const std::string> references, bool lowercase = false);

/// Tokens of one line as 13a splits it.
std::vector<std::string> bleu_tokens(std::string_view line, bool lowercase = false);

}  // namespace heddle::app
