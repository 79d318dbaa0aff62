#include <algorithm>
#include <vector>

#include "apps/translation/text/normal_form.h"
#include "apps/translation/text/unicode.h"
#include "apps/translation/text/unicode_tables.h"
#include "apps/translation/vocabulary/character_map.h"

namespace heddle::app {
namespace {

using namespace std::string_view_literals;

using CodePoints = std::u32string;

// True for marks of a single script, such as vowel points; classes from 200 on give a mark's position.
bool is_of_script(char32_t mark) { return combining_class(mark) > 1 && combining_class(mark) < 200; }

// The marks that take part in composition, and those of a single script.
std::vector<char32_t> usual_marks() {
    std::vector<char32_t> marks;
    const auto add = [&](char32_t c) {
        if (combining_class(c) != 0) marks.push_back(c);
    };
    for (const Decomposition& each : decompositions()) add(each.second);
    for (const ClassRange& range : class_ranges())
        for (char32_t c = range.first; c <= range.last; ++c)
            if (is_of_script(c)) add(c);
    std::ranges::sort(marks);
    marks.erase(std::unique(marks.begin(), marks.end()), marks.end());  // not std::ranges::unique: see tests/compilers.sh
    return marks;
}

// True if both marks may occur on one letter: they are close together in Unicode.
bool go_together(char32_t a, char32_t b) { return a >> 8 == b >> 8; }

// One text from each class of equivalent texts that gets rules.
std::vector<CodePoints> decomposed_texts() {
    std::vector<CodePoints> texts;
    for (const Decomposition& each : decompositions()) texts.push_back({each.composed});
    for (char32_t c = 0xAC00; c <= 0xD7A3; ++c) texts.push_back({c});  // Hangul syllables
    const std::vector<char32_t> marks = usual_marks();
    for (const Decomposition& each : decompositions()) {
        const CodePoints parts = to_nfd(CodePoints{each.composed});
        if (parts.size() != 2 || combining_class(parts[1]) == 0) continue;
        for (const char32_t mark : marks)
            if (combining_class(parts[1]) != combining_class(mark) && go_together(parts[1], mark))
                texts.push_back({each.composed, mark});
    }
    // Hebrew and Arabic letters can have three marks.
    const auto many = [](char32_t c) { return combining_class(c) >= 10 && combining_class(c) <= 35; };
    for (const char32_t a : marks)
        for (const char32_t b : marks) {
            if (!go_together(a, b) || combining_class(a) >= combining_class(b)) continue;
            texts.push_back({a, b});
            for (const char32_t c : marks)
                if (many(a) && many(b) && many(c) && go_together(b, c) && combining_class(b) < combining_class(c))
                    texts.push_back({a, b, c});
        }
    return texts;
}

// The text after applying the rules.
CodePoints replaced(const std::map<CodePoints, CodePoints>& rules, const CodePoints& text, std::size_t longest) {
    CodePoints out;
    for (std::size_t i = 0; i < text.size();) {
        std::size_t length = std::min(longest, text.size() - i);
        auto rule = rules.end();
        for (; length > 0 && rule == rules.end(); --length) rule = rules.find(text.substr(i, length));
        out += rule == rules.end() ? text.substr(i, 1) : rule->second;
        i += rule == rules.end() ? 1 : rule->first.size();
    }
    return out;
}

std::string nfc_map() {
    // Shorter parts first: a part needs no rule if the rules of its parts suffice.
    const auto shorter = [](const CodePoints& a, const CodePoints& b) {
        return a.size() != b.size() ? a.size() < b.size() : a < b;
    };
    std::map<CodePoints, CodePoints, decltype(shorter)> wanted(shorter);
    for (const CodePoints& text : decomposed_texts()) {
        const CodePoints composed = to_nfc(text);
        for (const CodePoints& each : canonical_equivalents(text))
            if (each != composed) wanted.emplace(each, composed);
    }
    std::map<CodePoints, CodePoints> rules;
    for (const auto& [from, to] : wanted)
        if (replaced(rules, from, from.size()) != to) rules.emplace(from, to);
    for (const char32_t c : U"\t\n\v\f\r\x1c\x1d\x1e\x1f\u0085\u2028\u2029"sv) rules[{c}] = U" ";
    CharacterRules bytes;
    for (const auto& [from, to] : rules) bytes.emplace(encode_utf8(from), encode_utf8(to));
    return make_character_map(bytes);
}

}  // namespace

const std::string& nfc_character_map() {
    static const std::string map = nfc_map();
    return map;
}

}  // namespace heddle::app
