#include "apps/translation/vocabulary/character_map.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "apps/translation/text/normal_form.h"
#include "apps/translation/text/unicode.h"
#include "apps/translation/text/unicode_tables.h"
#include "apps/translation/vocabulary/protobuf.h"
#include "core/error.h"
#include "core/format.h"

namespace heddle::app {
namespace {

// Writes the trie; sentencepiece_check.cpp, which reads it, explains units, bases and labels. Nodes with equal subtrees share
// them, since all ways to write a character lead to one text.
class DoubleArrayWriter {
  public:
    explicit DoubleArrayWriter(const CharacterRules& rules) {
        for (const auto& [from, to] : rules) {
            const auto [text, is_new] = offsets_.try_emplace(to, texts_.size());
            if (is_new) texts_.append(to).push_back('\0');
            keys_.push_back({from, static_cast<std::uint32_t>(text->second)});
        }
        add_block();
        used_[0] = is_base_[0] = true;  // the root
        put_node(0, 0, write(0, keys_.size(), 0));
    }

    std::string map() const {
        std::string out;
        put_fixed(out, static_cast<std::uint32_t>(units_.size() * sizeof(std::uint32_t)));
        for (const std::uint32_t unit : units_) put_fixed(out, unit);
        return out + texts_;
    }

  private:
    static constexpr std::size_t block = 256;
    static constexpr std::uint32_t is_value = 1u << 31, has_leaf = 1u << 8;

    struct Key {
        std::string_view bytes;
        std::uint32_t value;
    };
    // A subtree's base and contents. Nodes with equal children share one base.
    struct Below {
        std::size_t base;
        bool leaf;
    };
    struct Child {
        std::size_t label;
        Below below;
    };

    // Writes the subtree of the keys [begin, end), which agree in their first `depth` bytes.
    Below write(std::size_t begin, std::size_t end, std::size_t depth) {
        const bool leaf = keys_[begin].bytes.size() == depth;  // sorted: a key precedes those that it begins
        const std::uint32_t value = keys_[begin].value;
        std::vector<Child> children;
        for (std::size_t i = begin + leaf, next = i; i < end; i = next) {
            const char label = keys_[i].bytes[depth];
            while (next < end && keys_[next].bytes[depth] == label) ++next;
            children.push_back({static_cast<unsigned char>(label), write(i, next, depth + 1)});
        }
        std::vector<std::size_t> content{leaf, leaf ? value : 0};
        for (const auto& [label, below] : children) content.insert(content.end(), {label, below.base, below.leaf});
        const auto [known, is_new] = bases_.try_emplace(std::move(content), 0);
        if (!is_new) return {known->second, leaf};
        std::vector<std::size_t> labels;
        if (leaf) labels.push_back(0);
        for (const Child& child : children) labels.push_back(child.label);
        const std::size_t base = known->second = free_base(labels);
        is_base_[base] = true;
        for (const std::size_t label : labels) used_[base ^ label] = true;
        if (leaf) units_[base] = is_value | value;
        for (const auto& [label, below] : children) put_node(base ^ label, label, below);
        return {base, leaf};
    }

    void put_node(std::size_t node, std::size_t label, const Below& below) {
        const std::size_t offset = node ^ below.base;
        check(offset < 1u << 21, "character map: {} rules are too many", keys_.size());
        units_[node] = static_cast<std::uint32_t>(offset << 10 | label) | (below.leaf ? has_leaf : 0);
    }

    // An unused base for which the units of all these labels are free. Skips blocks that are nearly full.
    std::size_t free_base(const std::vector<std::size_t>& labels) {
        constexpr std::size_t blocks_searched = 3;
        const std::size_t size = units_.size(), searched = std::min(size, blocks_searched * block);
        for (std::size_t unit = size - searched; unit < size; ++unit) {
            const std::size_t base = unit ^ labels.front();
            if (used_[unit] || is_base_[base]) continue;
            if (std::ranges::none_of(labels, [&](std::size_t label) { return used_[base ^ label]; })) return base;
        }
        add_block();
        return size;
    }

    // A free unit has a label that is not a byte.
    void add_block() {
        units_.resize(units_.size() + block, is_value);
        used_.resize(units_.size());
        is_base_.resize(units_.size());
    }

    std::vector<Key> keys_;
    std::unordered_map<std::string, std::size_t> offsets_;
    std::string texts_;
    std::map<std::vector<std::size_t>, std::size_t> bases_;
    std::vector<std::uint32_t> units_;
    std::vector<char> used_, is_base_;  // used as bools
};

}  // namespace

std::string make_character_map(const CharacterRules& rules) {
    if (rules.empty()) return {};
    return DoubleArrayWriter(rules).map();
}

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
