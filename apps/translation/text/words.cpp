#include "apps/translation/text/words.h"

#include "apps/translation/text/unicode.h"

namespace heddle::app {
namespace {

constexpr std::string_view mark = "\xEF\xBF\xAD";  // join_mark in UTF-8

/// Splits text without whitespace.
void split_chunk(std::u32string_view chunk, std::vector<std::string>& tokens) {
    bool inside_word = false;
    for (std::size_t i = 0; i < chunk.size(); ++i) {
        const bool word = is_word_character(chunk[i]);
        if (!word || !inside_word) tokens.emplace_back();
        std::string& token = tokens.back();
        if (!word && i > 0) token += mark;
        append_utf8(token, chunk[i] == join_mark ? U'\u25A0' : chunk[i]);
        if (!word && i + 1 < chunk.size() && is_word_character(chunk[i + 1])) token += mark;
        inside_word = word;
    }
}

}  // namespace

std::vector<std::string> split_words(std::u32string_view text) {
    std::vector<std::string> tokens;
    for (const std::u32string_view chunk : split_at_spaces(text)) split_chunk(chunk, tokens);
    return tokens;
}

std::string join_words(std::span<const std::string> tokens) {
    std::string text;
    bool joined = true;  // there is nothing before the first token
    for (std::string_view token : tokens) {
        const bool joins_left = token.starts_with(mark), joins_right = token.size() > mark.size() && token.ends_with(mark);
        if (joins_left) token.remove_prefix(mark.size());
        if (joins_right) token.remove_suffix(mark.size());
        if (!joined && !joins_left) text += ' ';
        text += token;
        joined = joins_right;
    }
    return text;
}

}  // namespace heddle::app
