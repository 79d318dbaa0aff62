#include "apps/translation/vocabulary/unknown_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/translation/text/unicode.h"

namespace heddle::app {
namespace {

constexpr std::size_t most_shown = 40;  // characters

}  // namespace

// A word shortened for messages; control characters and invisible ones become U+001B, U+00AD, ...
std::string readable(const std::string& word) {
    std::u32string text = decode_utf8(word);
    if (text.size() > most_shown) text = text.substr(0, most_shown) + U"...";
    std::string out;
    for (HiddenCharacters characters; const char32_t c : text) {
        if (characters.is_hidden(c) || c < 0x20 || c == 0x85)
            out += fmt::format("U+{:04X}", static_cast<std::uint32_t>(c));
        else
            append_utf8(out, c);
    }
    return out;
}

std::int64_t count_unknown(const Vocabulary& vocabulary, std::span<const std::string> parts) {
    if (vocabulary.type() == VocabularyType::word) return static_cast<std::int64_t>(parts.size());
    std::int64_t characters = 0;
    for (const std::string& part : parts) characters += static_cast<std::int64_t>(decode_utf8(part).size());
    return characters;
}

std::string_view unknown_unit(const Vocabulary& vocabulary) {
    return vocabulary.type() == VocabularyType::word ? "words" : "characters";
}

void UnknownText::look_at(std::span<const std::string> lines, std::span<const std::vector<std::int32_t>> tokens) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
        ++lines_;
        if (std::ranges::count(tokens[i], unk_id) == 0) continue;
        const std::vector<std::string> unknown = vocabulary_.unknown_parts(lines[i]);
        if (unknown_ == 0)
            say_(fmt::format("warning: {}, line {}: '{}' is not in the vocabulary; the model reads it as unknown", name_, lines_,
                             readable(unknown.front())));
        unknown_ += count_unknown(vocabulary_, unknown);
        ++lines_with_unknown_;
    }
}

void UnknownText::report() const {
    if (unknown_ < 2) return;
    say_(fmt::format("{}: {} {} in {} of {} were not in the vocabulary", name_, unknown_, unknown_unit(vocabulary_),
                     lines_with_unknown_, counted_lines(lines_)));
}

}  // namespace heddle::app
