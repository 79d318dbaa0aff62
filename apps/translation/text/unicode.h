// Unicode functions for text handling.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heddle::app {

/// Takes the place of bytes that are not UTF-8.
inline constexpr char32_t replacement_character = U'\uFFFD';

/// True if all of `text` is well-formed UTF-8 (no overlong forms, no surrogates, nothing above U+10FFFF).
bool is_utf8(std::string_view text);
/// Length in bytes of the well-formed sequence at the start of `text` (not empty); 0 if there is none.
std::size_t utf8_length(std::string_view text);
/// Decodes to code points; each byte that is not part of a well-formed sequence becomes U+FFFD.
std::u32string decode_utf8(std::string_view text);
std::string encode_utf8(std::u32string_view text);
void append_utf8(std::string& text, char32_t code_point);

/// Whitespace as in Python's str.split(): Unicode's White_Space and the separators U+001C..U+001F.
bool is_space(char32_t code_point);
/// True for a character that draws nothing and is not whitespace: control characters, and Unicode's Default_Ignorable_Code_Point
/// (soft hyphens, joiners, direction marks, variation selectors, ...).
bool is_invisible(char32_t code_point);
/// Finds invisible characters in a text, from its beginning on. Joiners, selectors and zero-width spaces do not count if they
/// may shape the character before them, as in many scripts and in emoji.
class HiddenCharacters {
  public:
    /// True if the next character of the text is hidden.
    bool is_hidden(char32_t code_point);

  private:
    char32_t before_ = 0;  // the character that a joiner or selector would shape
};
/// Splits at whitespace, like str.split(); no part is empty. The parts are views of `text`.
std::vector<std::u32string_view> split_at_spaces(std::u32string_view text);
/// Letters, marks and digits (general categories L, M and N), which make up words.
bool is_word_character(char32_t code_point);
/// Converts to lower case by Unicode's full mapping, with its two special cases: U+0130 and the sigma at the end of a word.
/// Equal to Python's str.lower().
std::u32string to_lower(std::u32string_view text);
std::string to_lower(std::string_view utf8);

}  // namespace heddle::app
