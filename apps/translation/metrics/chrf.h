// chrF and chrF++ as sacrebleu 2.6 computes them by default: character n-grams up to 6 without white space, for chrF++ word
// n-grams up to 2 beside them, recall weighing beta = 2 times as much as precision.
//
//   chrF = 100 * (1 + beta^2) P R / (beta^2 P + R)
//   P = mean over the orders of (matches / n-grams of the hypothesis),   R = the same with the n-grams of the reference
//
// The counts are sums over the corpus, of matches clipped per sentence. An order that one side has no n-gram of does not enter
// the means (effective order), and the n-grams of a hypothesis whose reference has none of their order are not counted. A word of
// more than one character loses a punctuation mark at its end, or else one at its start, and the mark is a word then. Sources:
// Popovic 2015, "chrF: character n-gram F-score for automatic MT evaluation"; Popovic 2017, "chrF++: words helping character
// n-grams".
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "apps/translation/metrics/ngrams.h"

namespace heddle::app {

inline constexpr std::size_t chrf_characters = 6;  ///< the longest n-gram of characters
inline constexpr std::size_t chrf_words = 2;       ///< the longest n-gram of words, in chrF++

/// Counts of a sentence or of a corpus for both scores: the orders of characters, then those of words.
struct ChrfStatistics {
    std::array<NgramCounts, chrf_characters + chrf_words> orders{};

    ChrfStatistics& operator+=(const ChrfStatistics& other);
};

ChrfStatistics chrf_statistics(std::string_view hypothesis, std::string_view reference, bool lowercase = false);

/// chrF, 0..100.
double chrf_score(const ChrfStatistics& statistics);
/// chrF++, 0..100.
double chrf_plus_plus_score(const ChrfStatistics& statistics);

/// The words of a line by chrF++'s rules.
std::vector<std::string> chrf_tokens(std::string_view line, bool lowercase = false);

}  // namespace heddle::app
