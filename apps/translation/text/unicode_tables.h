// Sorted tables of code points used by unicode.h and normal_form.h; unicode_tables.cpp is generated.
#pragma once

#include <span>

namespace heddle::app {

/// first..last, both included.
struct CodeRange {
    char32_t first;
    char32_t last = first;
};

/// Every step-th code point of first..last has the lower case code point + difference.
struct LowerRange {
    char32_t first;
    char32_t last;
    int step;
    int difference;
};

/// first..last have this canonical combining class, which is not 0.
struct ClassRange {
    char32_t first;
    char32_t last;
    unsigned char combining_class;
};

/// The canonical decomposition of a code point.
struct Decomposition {
    char32_t composed;
    char32_t first;
    char32_t second = 0;    ///< 0: there is only the first
    bool composes = false;  ///< NFC composes both parts again
};

std::span<const LowerRange> lower_ranges();
/// Cased and not case-ignorable: a capital sigma after such a character ends a word.
std::span<const CodeRange> cased_ranges();
/// Case-ignorable: skipped when looking for a cased character around a sigma.
std::span<const CodeRange> ignorable_ranges();
/// General categories L, M and N.
std::span<const CodeRange> word_ranges();
std::span<const CodeRange> space_ranges();
std::span<const ClassRange> class_ranges();
/// Sorted by `composed`; without the Hangul syllables.
std::span<const Decomposition> decompositions();

/// True if one of these sorted, disjoint ranges contains the code point.
bool is_in(std::span<const CodeRange> ranges, char32_t code_point);

}  // namespace heddle::app
