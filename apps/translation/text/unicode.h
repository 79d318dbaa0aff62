// The part of Unicode that text handling needs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heddle::app {

/// Replaces bytes that are not UTF-8.
inline constexpr char32_t replacement_character = U'\uFFFD';

/// Whether all of `text` is well-formed UTF-8 (no overlong forms, no surrogates, nothing above U+10FFFF).
bool is_utf8(std::string_view text);
/// Bytes of the well-formed sequence that `text`, which is not empty, begins with; 0 when there is none.
std::size_t utf8_length(std::string_view text);
/// Code points; each byte that belongs to no well-formed sequence becomes U+FFFD.
std::u32string decode_utf8(std::string_view text);
std::string encode_utf8(std::u32string_view text);
void append_utf8(std::string& text, char32_t code_point);

/// Whitespace as Python's str.split() sees it: White_Space of Unicode and the separators U+001C..U+001F.
bool is_space(char32_t code_point);
/// Whether a character draws nothing, though it is no whitespace: control characters, and Unicode's Default_Ignorable_Code_Point
/// (soft hyphens, joiners, marks of direction, variation selectors, ...).
bool is_invisible(char32_t code_point);
/// Finds invisible characters, going through a text from its beginning. Joiners, selectors and spaces of no width are none where
/// they may shape the character before them, as in many scripts and in emoji.
class HiddenCharacters {
  public:
    /// Whether the next character of the text is hidden.
    bool is_hidden(char32_t code_point);

  private:
    char32_t before_ = 0;  // what a joiner or selector would shape
};
/// The parts between whitespace, as from str.split(); none is empty. Views of `text`.
std::vector<std::u32string_view> split_at_spaces(std::u32string_view text);
/// Letters, marks and digits (general categories L, M and N): what words are made of.
bool is_word_character(char32_t code_point);
/// General categories P, S and N. Unlike the others they are those of a newer Unicode: of the Python package `regex`, which
/// sacrebleu's tokenizer intl uses.
bool is_punctuation(char32_t code_point);
bool is_symbol(char32_t code_point);
bool is_number(char32_t code_point);
/// Unicode's full lower case, with its two special cases: U+0130 and the sigma at the end of a word. Equal to Python's
/// str.lower().
std::u32string to_lower(std::u32string_view text);
std::string to_lower(std::string_view utf8);

}  // namespace heddle::app
