// Unicode's canonical equivalence: texts that look and mean the same though their code points differ, "é" and "e" with U+0301.
// Source: Unicode Standard Annex 15, https://www.unicode.org/reports/tr15.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace heddle::app {

/// Normalisation form D: every character decomposed, marks in canonical order.
std::u32string to_nfd(std::u32string_view text);
/// Normalisation form C: the form D, composed again. Equal to Python's unicodedata.normalize("NFC", text).
std::u32string to_nfc(std::u32string_view text);

/// The canonical combining class: 0 for a letter and other starters; marks of different classes may change places.
int combining_class(char32_t code_point);

/// All texts that are canonically equivalent to this one, itself included. Their number grows exponentially with the length: for
/// a character and its marks.
std::set<std::u32string> canonical_equivalents(std::u32string_view text);

}  // namespace heddle::app
