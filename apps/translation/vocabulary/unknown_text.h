// Warns of text that a vocabulary has no tokens for, because the model can only guess there.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "apps/translation/text/line_reader.h"
#include "apps/translation/vocabulary/vocabulary.h"

namespace heddle::app {

/// A word for messages: not all of a very long one, and what is not seen as U+200C.
std::string readable(const std::string& word);

/// How many words or characters unknown_parts() are, and which of the two: neighbouring unknown characters are one token of
/// SentencePiece.
std::int64_t count_unknown(const Vocabulary& vocabulary, std::span<const std::string> parts);
std::string_view unknown_unit(const Vocabulary& vocabulary);

/// Looks through the lines of one input: warns at the first unknown part, and counts.
class UnknownText {
  public:
    /// `name` is what messages call the input; `vocabulary` must outlive this.
    UnknownText(std::string name, const Vocabulary& vocabulary, Say say)
        : name_(std::move(name)), vocabulary_(vocabulary), say_(std::move(say)) {}

    /// The next lines and their tokens. Warns once, with the line's number and the first word (or character) that is unknown.
    void look_at(std::span<const std::string> lines, std::span<const std::vector<std::int32_t>> tokens);
    /// Reports how many parts of how many lines were unknown, if more than the one in the warning.
    void report() const;

  private:
    std::string name_;
    const Vocabulary& vocabulary_;
    Say say_;
    std::int64_t lines_ = 0;
    std::int64_t unknown_ = 0;  // words or characters
    std::int64_t lines_with_unknown_ = 0;
};

}  // namespace heddle::app
