// Warns about text for which a vocabulary has no tokens, since the model can only guess there.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "apps/translation/text/line_reader.h"
#include "apps/translation/vocabulary/vocabulary.h"

namespace heddle::app {

/// A word for messages: long ones are shortened, invisible characters become U+200C, ...
std::string readable(const std::string& word);

/// Counts unknown_parts() as words or as characters, and names the unit: in SentencePiece, neighbouring unknown characters form
/// one part.
std::int64_t count_unknown(const Vocabulary& vocabulary, std::span<const std::string> parts);
std::string_view unknown_unit(const Vocabulary& vocabulary);

/// Checks the lines of one input: warns about the first unknown part, and counts all.
class UnknownText {
  public:
    /// `name`: the input's name in messages; `vocabulary` must outlive this.
    UnknownText(std::string name, const Vocabulary& vocabulary, Say say)
        : name_(std::move(name)), vocabulary_(vocabulary), say_(std::move(say)) {}

    /// Checks the next lines, given their tokens. Warns once, with the line's number and the first unknown word or character.
    void look_at(std::span<const std::string> lines, std::span<const std::vector<std::int32_t>> tokens);
    /// Reports how many parts of how many lines were unknown, unless the warning has said it all.
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
