// Notes that an input is far from the text that a model was trained on: its subwords are much shorter.
//
// A subword vocabulary has long tokens for what its training text says often, and breaks other text into small pieces. So the
// characters of a token tell how near a text is. Measured on vocabularies of Multi30k and Tatoeba, 300 to 29,000 pairs: test
// text of the same kind takes up to 1.14 times the tokens for its characters, in pieces of 1,000 characters up to 1.26 times;
// Tatoeba takes 1.5 to 1.65 times those of a Multi30k vocabulary, and other languages with Latin letters 1.7 times and more.
// It does not notice another kind of text in the same everyday words, nor the target language in a shared vocabulary.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "apps/translation/batching/token_pairs.h"
#include "apps/translation/text/line_reader.h"
#include "apps/translation/vocabulary/vocabulary.h"

namespace heddle::app {

/// Characters of the training sources, spaces left out, for each token: of at most 1,000 pairs from four places. Nothing where
/// the vocabulary has no subwords.
std::optional<double> characters_per_token(const TokenPairs& pairs, const Vocabulary& source);

/// Looks through the lines of one input.
class FarText {
  public:
    /// `name` is what the note calls the input; `usual`: characters_per_token() of the training text, if it is known.
    FarText(std::string name, std::optional<double> usual, Say say)
        : name_(std::move(name)), usual_(usual), say_(std::move(say)) {}

    /// The next lines and their tokens.
    void look_at(std::span<const std::string> lines, std::span<const std::vector<std::int32_t>> tokens);
    /// Says so when all lines together have 1,000 characters or more and 1.4 times the usual tokens or more.
    void report() const;

  private:
    std::string name_;
    std::optional<double> usual_;
    Say say_;
    std::int64_t characters_ = 0;
    std::int64_t tokens_ = 0;
};

}  // namespace heddle::app
