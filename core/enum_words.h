// The words for the values of an enum, which options, config.toml, --help and messages use.
//
// They stand beside the enum, in the order in which --help offers them:
//     enum class NormPlace : std::uint8_t { pre, post };
//     constexpr auto enum_words(NormPlace) { return words_for<NormPlace>({{NormPlace::pre, "pre"}, {NormPlace::post, "post"}}); }
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// A value and its word.
template <class Enum>
struct EnumWord {
    Enum value;
    std::string_view word;
};

/// What enum_words() returns.
template <class Enum, std::size_t count>
constexpr std::array<EnumWord<Enum>, count> words_for(const EnumWord<Enum> (&words)[count]) {
    return std::to_array(words);
}

/// An enum with an enum_words() beside it.
template <class Enum>
concept HasWords = requires(Enum value) {
    enum_words(value).front().word;
};

/// The word for a value; "?" for one that has none.
template <HasWords Enum>
constexpr std::string_view word_of(Enum value) {
    for (const EnumWord<Enum>& each : enum_words(value))
        if (each.value == value) return each.word;
    return "?";
}

/// The value that the word stands for; nothing for other words.
template <HasWords Enum>
constexpr std::optional<Enum> value_of(std::string_view word) {
    for (const EnumWord<Enum>& each : enum_words(Enum()))
        if (each.word == word) return each.value;
    return std::nullopt;
}

/// All words, in their order.
template <HasWords Enum>
std::vector<std::string> words_of() {
    std::vector<std::string> words;
    for (const EnumWord<Enum>& each : enum_words(Enum())) words.emplace_back(each.word);
    return words;
}

}  // namespace heddle
