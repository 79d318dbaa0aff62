// Splits text into words and punctuation, reversibly.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::app {

/// The join mark U+FFED: a token that begins (ends) with it has no space before (after) it.
inline constexpr char32_t join_mark = U'\uFFED';

/// Splits at whitespace and around everything that is not a letter, mark or digit. Each such sign is a token of its own and
/// carries the join marks, so a word is the same token with and without a comma after it:
///   He said: "don't."  ->  He  said  J:  "J  don  J'J  t  J.  J"     (J: the join mark)
/// A join mark in the text becomes U+25A0, the black square.
std::vector<std::string> split_words(std::u32string_view text);
/// Joins tokens with one space unless a mark forbids it. join_words(split_words(t)) is t with its whitespace reduced to single
/// spaces between words.
std::string join_words(std::span<const std::string> tokens);

}  // namespace heddle::app
