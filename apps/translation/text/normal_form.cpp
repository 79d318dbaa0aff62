#include "apps/translation/text/normal_form.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "apps/translation/text/unicode_tables.h"

namespace heddle::app {
namespace {

// Hangul syllables are numbered ((leading consonant * vowels) + vowel) * trailing + trailing consonant; trailing consonant 0
// means none (Unicode standard, section 3.12).
constexpr char32_t first_syllable = 0xAC00, first_leading = 0x1100, first_vowel = 0x1161, no_trailing = 0x11A7;
constexpr char32_t leading = 19, vowels = 21, trailing = 28;

bool is_syllable(char32_t c) { return c >= first_syllable && c < first_syllable + leading * vowels * trailing; }

std::optional<char32_t> composed_syllable(char32_t first, char32_t second) {
    if (first >= first_leading && first < first_leading + leading && second >= first_vowel && second < first_vowel + vowels)
        return first_syllable + ((first - first_leading) * vowels + (second - first_vowel)) * trailing;
    const bool takes_trailing = is_syllable(first) && (first - first_syllable) % trailing == 0;
    if (takes_trailing && second > no_trailing && second < no_trailing + trailing) return first + (second - no_trailing);
    return std::nullopt;
}

const Decomposition* decomposition_of(char32_t c) {
    const auto found = std::ranges::lower_bound(decompositions(), c, {}, &Decomposition::composed);
    return found != decompositions().end() && found->composed == c ? &*found : nullptr;
}

void decompose(char32_t c, std::u32string& out) {
    if (is_syllable(c)) {
        const char32_t place = c - first_syllable, last = place % trailing;
        out.push_back(first_leading + place / (vowels * trailing));
        out.push_back(first_vowel + place / trailing % vowels);
        if (last > 0) out.push_back(no_trailing + last);
        return;
    }
    const Decomposition* parts = decomposition_of(c);
    if (parts == nullptr) return out.push_back(c);
    decompose(parts->first, out);
    if (parts->second != 0) out.push_back(parts->second);  // never decomposes further
}

using Parts = std::pair<char32_t, char32_t>;

// Characters by their canonical parts; the second part is 0 if a character decomposes to a single other one.
const std::multimap<Parts, const Decomposition*>& with_parts() {
    static const auto table = [] {
        std::multimap<Parts, const Decomposition*> parts;
        for (const Decomposition& each : decompositions()) parts.emplace(Parts{each.first, each.second}, &each);
        return parts;
    }();
    return table;
}

std::optional<char32_t> composed(char32_t first, char32_t second) {
    if (const auto syllable = composed_syllable(first, second)) return syllable;
    for (auto [each, end] = with_parts().equal_range({first, second}); each != end; ++each)
        if (each->second->composes) return each->second->composed;
    return std::nullopt;
}

}  // namespace

int combining_class(char32_t code_point) {
    const auto after = std::ranges::upper_bound(class_ranges(), code_point, {}, &ClassRange::first);
    if (after == class_ranges().begin()) return 0;
    const ClassRange& range = *(after - 1);
    return code_point <= range.last ? range.combining_class : 0;
}

std::u32string to_nfd(std::u32string_view text) {
    std::u32string out;
    for (const char32_t c : text) decompose(c, out);
    for (auto begin = out.begin(); begin != out.end();) {
        const auto end = std::find_if(begin, out.end(), [](char32_t c) { return combining_class(c) == 0; });
        std::ranges::stable_sort(begin, end, {}, combining_class);
        begin = std::find_if(end, out.end(), [](char32_t c) { return combining_class(c) != 0; });
    }
    return out;
}

std::u32string to_nfc(std::u32string_view text) {
    std::u32string out;
    std::optional<std::size_t> starter;  // the last character of class 0
    int last = 0;                        // class of the last mark after it
    for (const char32_t c : to_nfd(text)) {
        const int mark = combining_class(c);
        // A mark of the same or a higher class in between blocks the composition.
        if (starter && (*starter + 1 == out.size() || last < mark)) {
            if (const auto both = composed(out[*starter], c)) {
                out[*starter] = *both;
                continue;
            }
        }
        if (mark == 0) starter = out.size();
        last = mark;
        out.push_back(c);
    }
    return out;
}

std::set<std::u32string> canonical_equivalents(std::u32string_view text) {
    // All equivalent texts decompose into the same parts in some order, so all are found from form D by exchanging neighbouring
    // marks and composing neighbouring parts.
    std::set<std::u32string> found;
    std::vector<std::u32string> open;
    const auto add = [&](std::u32string one) {
        if (found.insert(one).second) open.push_back(std::move(one));
    };
    add(to_nfd(text));
    while (!open.empty()) {
        const std::u32string one = std::move(open.back());
        open.pop_back();
        for (std::size_t i = 0; i < one.size(); ++i) {
            const auto put = [&](std::size_t count, char32_t c) { add(std::u32string(one).replace(i, count, 1, c)); };
            const bool has_next = i + 1 < one.size();
            for (auto [each, end] = with_parts().equal_range({one[i], 0}); each != end; ++each) put(1, each->second->composed);
            if (!has_next) continue;
            for (auto [each, end] = with_parts().equal_range({one[i], one[i + 1]}); each != end; ++each)
                put(2, each->second->composed);
            if (const auto syllable = composed_syllable(one[i], one[i + 1])) put(2, *syllable);
            const int mark = combining_class(one[i]), next = combining_class(one[i + 1]);
            if (mark == 0 || next == 0 || mark == next) continue;
            std::u32string exchanged = one;
            std::swap(exchanged[i], exchanged[i + 1]);
            add(std::move(exchanged));
        }
    }
    return found;
}

}  // namespace heddle::app
