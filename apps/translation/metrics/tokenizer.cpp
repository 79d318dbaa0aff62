#include "apps/translation/metrics/tokenizer.h"

#include <algorithm>

#include "apps/translation/text/unicode.h"
#include "apps/translation/text/unicode_tables.h"
#include "core/format.h"

namespace heddle::app {
namespace {

void replace_all(std::u32string& text, std::u32string_view from, std::u32string_view to) {
    for (std::size_t at = text.find(from); at != std::u32string::npos; at = text.find(from, at + to.size())) {
        text.replace(at, from.size(), to);
    }
}

/// mteval-v13a's symbols: the space and all ASCII punctuation but ' , - and the full stop.
bool is_ascii_symbol(char32_t c) {
    return (c >= U'{' && c <= U'~') || (c >= U'[' && c <= U'`') || (c >= U' ' && c <= U'&') || (c >= U'(' && c <= U'+') ||
           (c >= U':' && c <= U'@') || c == U'/';
}

bool is_digit(char32_t c) { return c >= U'0' && c <= U'9'; }

bool is_stop(char32_t c) { return c == U'.' || c == U','; }

/// The characters that sacrebleu's zh (by Shujian Huang) separates. U+2001..U+2A6D and U+2F81..U+2FA1 were meant to be the
/// extension planes U+20000..U+2A6D6 and U+2F800..U+2FA1D: Python reads "\u20000" as U+2000 and a zero. So the planes stay
/// together, and quotation marks and other signs are separated.
constexpr CodeRange chinese_ranges[] = {{0x2001, 0x2A6D}, {0x2E80, 0x2EFF}, {0x2F00, 0x2FDF}, {0x2FF0, 0x303F},
                                        {0x3100, 0x312F}, {0x31A0, 0x31BF}, {0x31C0, 0x31EF}, {0x3200, 0x33FF},
                                        {0x3400, 0x4DB5}, {0x4E00, 0x9FBB}, {0xF900, 0xFA2D}, {0xFA30, 0xFA6A},
                                        {0xFA70, 0xFAD9}, {0xFE10, 0xFE1F}, {0xFE30, 0xFE4F}, {0xFF00, 0xFFEF}};

bool is_chinese(char32_t c) { return is_in(chinese_ranges, c); }

/// Rewrites each pair of neighbours for which `wanted` holds, from left to right and without overlap, as a regular
/// expression of two characters does: the second character of a match cannot begin the next one.
template <class Wanted>
std::u32string split_pairs(const std::u32string& text, Wanted wanted, bool before, bool between, bool after) {
    std::u32string out;
    out.reserve(text.size() * 2);
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (i + 1 == text.size() || !wanted(text[i], text[i + 1])) {
            out.push_back(text[i]);
            continue;
        }
        if (before) out.push_back(U' ');
        out.push_back(text[i]);
        if (between) out.push_back(U' ');
        out.push_back(text[++i]);
        if (after) out.push_back(U' ');
    }
    return out;
}

template <class Wanted>
std::u32string spaces_around(const std::u32string& text, Wanted wanted) {
    std::u32string out;
    out.reserve(text.size() * 2);
    for (const char32_t c : text) {
        if (wanted(c)) {
            out.append({U' ', c, U' '});
        } else {
            out.push_back(c);
        }
    }
    return out;
}

/// The rules shared by 13a and zh.
std::u32string split_western(std::u32string text) {
    text = spaces_around(text, is_ascii_symbol);
    text = split_pairs(
        text, [](char32_t a, char32_t b) { return !is_digit(a) && is_stop(b); }, false, true, true);
    text = split_pairs(
        text, [](char32_t a, char32_t b) { return is_stop(a) && !is_digit(b); }, true, true, false);
    return split_pairs(
        text, [](char32_t a, char32_t b) { return is_digit(a) && b == U'-'; }, false, true, true);
}

std::u32string split_13a(std::u32string text) {
    replace_all(text, U"<skipped>", U"");
    replace_all(text, U"-\n", U"");
    replace_all(text, U"&quot;", U"\"");
    replace_all(text, U"&amp;", U"&");
    replace_all(text, U"&lt;", U"<");
    replace_all(text, U"&gt;", U">");
    return split_western(U" " + text + U" ");
}

/// Removes spaces at the start, too: before a stop they would count as "not a digit".
std::u32string split_zh(std::u32string text) {
    text.erase(text.begin(), std::find_if_not(text.begin(), text.end(), is_space));
    return split_western(spaces_around(text, is_chinese));
}

std::u32string split(std::u32string text, Tokenizer tokenizer) {
    switch (tokenizer) {
        case Tokenizer::mteval_13a: return split_13a(std::move(text));
        case Tokenizer::zh: return split_zh(std::move(text));
        case Tokenizer::character: return spaces_around(text, [](char32_t) { return true; });
        case Tokenizer::none: return text;
        case Tokenizer::automatic: break;
    }
    fail_with("bleu: no tokenizer was chosen; wanted one of 13a, zh, char and none");
}

}  // namespace

std::vector<std::string> bleu_tokens(std::string_view line, const MetricOptions& options) {
    std::u32string text = decode_utf8(line);
    if (options.lowercase) text = to_lower(text);
    while (!text.empty() && is_space(text.back())) text.pop_back();
    text = split(std::move(text), options.tokenizer);
    std::vector<std::string> tokens;
    for (const std::u32string_view token : split_at_spaces(text)) tokens.push_back(encode_utf8(token));
    return tokens;
}

}  // namespace heddle::app
