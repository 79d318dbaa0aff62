// Unicode's canonical equivalence of texts that look and mean the same though their code points differ, such as "é" and "e" with
// U+0301. Source: Unicode Standard Annex 15, https://www.unicode.org/reports/tr15.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace heddle::app {

/// Normalisation form D: decomposes every character, with marks in canonical order.
std::u32string to_nfd(std::u32string_view text);
/// Normalisation form C: form D, then composed. Equal to Python's unicodedata.normalize("NFC", text).
std::u32string to_nfc(std::u32string_view text);

/// The canonical combining class: 0 for letters and other starters; marks of different classes can be exchanged.
int combining_class(char32_t code_point);

/// All texts that are canonically equivalent to this one, including itself. Exponential in the length: meant for a character
/// with its marks.
std::set<std::u32string> canonical_equivalents(std::u32string_view text);

}  // namespace heddle::app
