// The n-grams that a hypothesis and its reference have in common, clipped, as BLEU and chrF count them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

namespace heddle::app {

/// The n-grams of one order.
struct NgramCounts {
    std::int64_t hypothesis = 0;  ///< n-grams of the hypothesis
    std::int64_t reference = 0;   ///< n-grams of the reference
    std::int64_t matches = 0;     ///< n-grams common to both, each matched at most once

    NgramCounts& operator+=(const NgramCounts& other) {
        hypothesis += other.hypothesis;
        reference += other.reference;
        matches += other.matches;
        return *this;
    }
};

/// Counts the n-grams of every order 1 .. orders.size() into orders[n - 1]. A text is a sequence of symbols: characters, or
/// words as numbered by WordNumbers.
void count_ngrams(std::u32string_view hypothesis, std::u32string_view reference, std::span<NgramCounts> orders);

/// Assigns numbers to words; equal words get equal numbers.
class WordNumbers {
  public:
    std::u32string operator()(std::span<const std::string> words);

  private:
    std::unordered_map<std::string, char32_t> numbers_;
};

}  // namespace heddle::app
