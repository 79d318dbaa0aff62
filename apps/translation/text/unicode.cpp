#include "apps/translation/text/unicode.h"

#include <algorithm>
#include <cstddef>

#include "apps/translation/text/unicode_tables.h"

namespace heddle::app {
namespace {

/// One well-formed sequence at the start of `text`, or length 0. The bounds on the second byte rule out overlong forms,
/// surrogates and code points above U+10FFFF (Unicode standard, table 3-7).
struct Utf8Sequence {
    char32_t code_point = 0;
    std::size_t length = 0;
};

Utf8Sequence first_sequence(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned lead = byte(0);
    if (lead < 0x80) return {lead, 1};
    if (lead < 0xC2 || lead > 0xF4) return {};
    const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (text.size() < length) return {};
    const unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    const unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (byte(1) < low || byte(1) > high) return {};
    char32_t code_point = lead & (0x7Fu >> length);
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xC0u) != 0x80u) return {};
        code_point = (code_point << 6) | (byte(i) & 0x3Fu);
    }
    return {code_point, length};
}

template <class Range>
const Range* find(std::span<const Range> ranges, char32_t code_point) {
    const auto after = std::upper_bound(ranges.begin(), ranges.end(), code_point,
                                        [](char32_t value, const Range& range) { return value < range.first; });
    if (after == ranges.begin() || code_point > (after - 1)->last) return nullptr;
    return &*(after - 1);
}

/// True if the capital sigma at `place` ends a word: there is a cased character before it, and none after it (Unicode standard,
/// table 3-17).
bool is_final_sigma(std::u32string_view text, std::size_t place) {
    const auto ignorable = [](char32_t c) { return is_in(ignorable_ranges(), c); };
    const auto cased = [](char32_t c) { return is_in(cased_ranges(), c); };
    std::size_t before = place;
    while (before > 0 && ignorable(text[before - 1])) --before;
    if (before == 0 || !cased(text[before - 1])) return false;
    std::size_t after = place + 1;
    while (after < text.size() && ignorable(text[after])) ++after;
    return after == text.size() || !cased(text[after]);
}

bool is_ascii(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

}  // namespace

std::size_t utf8_length(std::string_view text) { return first_sequence(text).length; }

bool is_utf8(std::string_view text) {
    while (!text.empty()) {
        const std::size_t length = first_sequence(text).length;
        if (length == 0) return false;
        text.remove_prefix(length);
    }
    return true;
}

std::u32string decode_utf8(std::string_view text) {
    std::u32string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const auto [code_point, length] = first_sequence(text);
        out.push_back(length == 0 ? replacement_character : code_point);
        text.remove_prefix(std::max<std::size_t>(length, 1));
    }
    return out;
}

void append_utf8(std::string& text, char32_t code_point) {
    const auto put = [&](char32_t bits) { text.push_back(static_cast<char>(bits)); };
    const auto follow = [&](int shift) { put(0x80u | ((code_point >> shift) & 0x3Fu)); };
    if (code_point < 0x80) {
        put(code_point);
    } else if (code_point < 0x800) {
        put(0xC0u | (code_point >> 6));
        follow(0);
    } else if (code_point < 0x10000) {
        put(0xE0u | (code_point >> 12));
        follow(6);
        follow(0);
    } else {
        put(0xF0u | (code_point >> 18));
        follow(12);
        follow(6);
        follow(0);
    }
}

std::string encode_utf8(std::u32string_view text) {
    std::string out;
    out.reserve(text.size());
    for (const char32_t c : text) append_utf8(out, c);
    return out;
}

bool is_in(std::span<const CodeRange> ranges, char32_t code_point) { return find(ranges, code_point) != nullptr; }

bool is_space(char32_t code_point) { return is_in(space_ranges(), code_point); }

bool is_invisible(char32_t code_point) {
    // DerivedCoreProperties.txt of Unicode 15.1
    constexpr CodeRange ignorable[] = {
        {0x00AD, 0x00AD}, {0x034F, 0x034F}, {0x061C, 0x061C},   {0x115F, 0x1160},   {0x17B4, 0x17B5},  {0x180B, 0x180F},
        {0x200B, 0x200F}, {0x202A, 0x202E}, {0x2060, 0x206F},   {0x3164, 0x3164},   {0xFE00, 0xFE0F},  {0xFEFF, 0xFEFF},
        {0xFFA0, 0xFFA0}, {0xFFF0, 0xFFF8}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF}};
    const bool control = code_point < 0x20 || (code_point >= 0x7F && code_point < 0xA0);
    return control ? !is_space(code_point) : is_in(ignorable, code_point);
}

bool HiddenCharacters::is_hidden(char32_t code_point) {
    constexpr CodeRange shaping[] = {{0x034F, 0x034F}, {0x180B, 0x180D},   {0x200B, 0x200D},
                                     {0xFE00, 0xFE0F}, {0xE0020, 0xE007F}, {0xE0100, 0xE01EF}};
    const bool invisible = is_invisible(code_point), shapes = is_in(shaping, code_point) && before_ >= 0x80;
    if (!shapes) before_ = invisible || is_space(code_point) ? U'\0' : code_point;
    return invisible && !shapes;
}

std::vector<std::u32string_view> split_at_spaces(std::u32string_view text) {
    std::vector<std::u32string_view> words;
    for (std::size_t begin = 0; begin < text.size();) {
        std::size_t end = begin;
        while (end < text.size() && !is_space(text[end])) ++end;
        if (end > begin) words.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return words;
}

bool is_word_character(char32_t code_point) { return is_in(word_ranges(), code_point); }

std::u32string to_lower(std::u32string_view text) {
    constexpr char32_t dotted_capital_i = U'\u0130', combining_dot_above = U'\u0307', capital_sigma = U'\u03A3';
    std::u32string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char32_t c = text[i];
        if (c == dotted_capital_i) {
            out.push_back(U'i');
            out.push_back(combining_dot_above);
        } else if (c == capital_sigma) {
            out.push_back(is_final_sigma(text, i) ? U'\u03C2' : U'\u03C3');
        } else {
            const LowerRange* range = find(lower_ranges(), c);
            const bool changes = range != nullptr && (c - range->first) % static_cast<char32_t>(range->step) == 0;
            out.push_back(changes ? static_cast<char32_t>(static_cast<int>(c) + range->difference) : c);
        }
    }
    return out;
}

std::string to_lower(std::string_view utf8) {
    if (!is_ascii(utf8)) return encode_utf8(to_lower(decode_utf8(utf8)));
    std::string out(utf8);
    for (char& c : out) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return out;
}

}  // namespace heddle::app
