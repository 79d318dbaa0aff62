// The words for the values of an enum: what options, config.toml, --help and messages call them, from one table for each enum.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::app {

/// A value and its word.
template <class Enum>
struct EnumWord {
    Enum value;
    std::string_view word;
};

/// Specialised for each enum that has words: `table` lists them in the order in which --help offers them.
template <class Enum>
struct EnumWords;

/// An enum that EnumWords is specialised for.
template <class Enum>
concept HasWords = requires {
    EnumWords<Enum>::table[0].word;
};

/// The word for a value; "?" for one that the table leaves out.
template <HasWords Enum>
std::string_view word_of(Enum value) {
    for (const EnumWord<Enum>& each : EnumWords<Enum>::table)
        if (each.value == value) return each.word;
    return "?";
}

/// The value that the word stands for; nothing when it is no word of the table.
template <HasWords Enum>
std::optional<Enum> value_of(std::string_view word) {
    for (const EnumWord<Enum>& each : EnumWords<Enum>::table)
        if (each.word == word) return each.value;
    return std::nullopt;
}

/// All words, in the order of the table.
template <HasWords Enum>
std::vector<std::string> words_of() {
    std::vector<std::string> words;
    for (const EnumWord<Enum>& each : EnumWords<Enum>::table) words.emplace_back(each.word);
    return words;
}

}  // namespace heddle::app
