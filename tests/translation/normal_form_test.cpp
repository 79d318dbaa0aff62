// Unicode's normal forms, and the maps of characters by which SentencePiece's models normalise.
#include "apps/translation/text/normal_form.h"

#include <gtest/gtest.h>
#include <cstring>
#include <fstream>

#include "apps/translation/text/unicode.h"
#include "apps/translation/text/unicode_tables.h"
#include "apps/translation/vocabulary/character_map.h"
#include "core/random.h"
#include "tests/shell.h"
#include "tests/support.h"

namespace heddle::app {
namespace {

using Texts = std::set<std::u32string>;

TEST(NormalForm, ComposesAndDecomposes) {
    const std::vector<std::pair<std::u32string, std::u32string>> cases = {
        {U"e\u0301", U"\u00e9"},               // é
        {U"a\u0302\u0323", U"\u1ead"},         // the marks in either order
        {U"\u00e9\u0323", U"\u1eb9\u0301"},    // ẹ́
        {U"q\u0301\u0323", U"q\u0323\u0301"},  // nothing to compose
        {U"\u212b", U"\u00c5"},                // the sign of the ångström
        {U"\u0958", U"\u0915\u093c"},          // excluded from composition
        {U"\u1112\u1161\u11ab", U"\ud55c"},    // 한
        {U"\u0651\u064e", U"\u064e\u0651"},    // shadda and fatha
        {U"\u0301e", U"\u0301e"},              // a mark at the beginning
        {U"a\u0332\u0301", U"\u00e1\u0332"},   // over a lower mark
        {U"\u2126 m\u00b2 \ufb01 \uff01", U"\u03a9 m\u00b2 \ufb01 \uff01"},
    };
    for (const auto& [text, composed] : cases) {
        EXPECT_EQ(to_nfc(text), composed);
        EXPECT_EQ(to_nfc(to_nfd(text)), composed);
        EXPECT_EQ(to_nfd(to_nfd(text)), to_nfd(composed));
    }
}

TEST(NormalForm, EquivalentTextsAreAllThatHaveTheSameForm) {
    EXPECT_EQ(canonical_equivalents(U"\u1ead"),
              (Texts{U"\u1ead", U"\u1ea1\u0302", U"\u00e2\u0323", U"a\u0302\u0323", U"a\u0323\u0302"}));
    EXPECT_EQ(canonical_equivalents(U"\ud55c"), (Texts{U"\ud55c", U"\ud558\u11ab", U"\u1112\u1161\u11ab"}));
    EXPECT_EQ(canonical_equivalents(U"\u00c5"), (Texts{U"\u00c5", U"\u212b", U"A\u030a"}));
    for (const Decomposition& each : decompositions())
        for (const std::u32string& text : canonical_equivalents(std::u32string{each.composed}))
            ASSERT_EQ(to_nfc(text), to_nfc(std::u32string{each.composed})) << std::hex << std::uint32_t{each.composed};
}

// Random sequences of letters and marks in which the order and composition of marks matter.
std::u32string marked_letters(Sequence& random) {
    std::u32string text;
    for (int i = 0; i < 8; ++i) {
        const Decomposition& one = decompositions()[random.below(decompositions().size())];
        text += random.below(3) == 0 ? one.composed : one.first;
        for (std::uint64_t marks = random.below(4); marks > 0; --marks) {
            const ClassRange& range = class_ranges()[random.below(class_ranges().size())];
            const Decomposition& other = decompositions()[random.below(decompositions().size())];
            if (const char32_t mark = random.below(2) == 0 ? other.second : range.first; mark != 0) text += mark;
        }
    }
    return text;
}

TEST(NormalForm, IsPythons) {
    HEDDLE_NEEDS_PYTHON_WITH("unicodedata");
    const TemporaryFolder folder;
    std::string lines;
    Sequence random(1);
    for (int i = 0; i < 20'000; ++i) lines += encode_utf8(marked_letters(random)) + "\n";
    for (char32_t c = 0x20; c < 0x110000; c += c == 0xD7FF ? 0x801 : 1) lines += encode_utf8(std::u32string{c}) + "\n";
    std::ofstream(folder / "text", std::ios::binary) << lines;
    const std::string script =
        "import sys, unicodedata as u; d = open(sys.argv[1], \"rb\").read().decode(); "
        "[open(sys.argv[1] + f, \"wb\").write(u.normalize(\"NF\" + f, d).encode()) for f in \"CD\"]";
    ASSERT_EQ(std::system(("'" + python() + "' -c '" + script + "' " + (folder / "text").string()).c_str()), 0);
    const std::u32string text = decode_utf8(lines);
    const auto file = [&](const char* name) {
        std::ifstream in(folder / name, std::ios::binary);
        return std::string(std::istreambuf_iterator<char>(in), {});
    };
    // EXPECT_EQ would print megabytes.
    EXPECT_TRUE(encode_utf8(to_nfc(text)) == file("textC"));
    EXPECT_TRUE(encode_utf8(to_nfd(text)) == file("textD"));
}

/// Applies a map as SentencePiece's Normalizer does (its commonPrefixSearch, the longest rule).
class MapReader {
  public:
    explicit MapReader(std::string map) : map_(std::move(map)) {
        std::uint32_t size = 0;
        std::memcpy(&size, map_.data(), 4);
        units_.resize(size / 4);
        std::memcpy(units_.data(), map_.data() + 4, size);
        texts_ = map_.data() + 4 + size;
    }

    std::string replace(std::string_view text) const {
        std::string out;
        while (!text.empty()) {
            std::size_t length = 0, node = offset(units_[0]);
            const char* found = nullptr;
            for (std::size_t i = 0; i < text.size(); ++i) {
                node ^= static_cast<unsigned char>(text[i]);
                const std::uint32_t unit = units_.at(node);
                if ((unit & (1u << 31 | 0xff)) != static_cast<unsigned char>(text[i])) break;
                node ^= offset(unit);
                if ((unit >> 8 & 1) != 0) {
                    length = i + 1;
                    found = texts_ + (units_.at(node) & ~(1u << 31));
                }
            }
            if (found == nullptr) length = std::max<std::size_t>(utf8_length(text), 1);
            out += found == nullptr ? std::string(text.substr(0, length)) : found;
            text.remove_prefix(length);
        }
        return out;
    }

  private:
    static std::size_t offset(std::uint32_t unit) { return (unit >> 10) << ((unit & (1u << 9)) >> 6); }

    std::string map_;
    std::vector<std::uint32_t> units_;
    const char* texts_ = nullptr;
};

TEST(CharacterMap, ReplacesTheLongestPart) {
    const std::string map = make_character_map({{"a", "1"}, {"abc", ""}, {"abd", "2"}, {"\xc3\xa4", "ae"}, {"b", "longer"}});
    EXPECT_NO_THROW(check_character_map(map));
    const MapReader reader(map);
    EXPECT_EQ(reader.replace("abcabdabax\xc3\xa4\xc3\xb6"), "21longer1xae\xc3\xb6");
    EXPECT_EQ(reader.replace(std::string("a\0b", 3)), std::string("1\0longer", 8));
    EXPECT_EQ(make_character_map({}), "");
}

TEST(CharacterMap, HoldsAnyRules) {
    Sequence random(3);
    for (int trial = 0; trial < 40; ++trial) {
        CharacterRules rules;
        const std::uint64_t letters = trial % 2 == 0 ? 3 : 255;  // long common beginnings, and many children
        for (int i = 0; i < 1000; ++i) {
            std::string from, to;
            for (std::uint64_t length = 1 + random.below(6); length > 0; --length)
                from += static_cast<char>(1 + random.below(letters));
            for (std::uint64_t length = random.below(3); length > 0; --length) to += static_cast<char>('a' + random.below(26));
            rules[from] = to;
        }
        const std::string map = make_character_map(rules);
        ASSERT_EQ(map, make_character_map(rules));
        ASSERT_NO_THROW(check_character_map(map));
        const MapReader reader(map);
        for (const auto& [from, to] : rules) ASSERT_EQ(reader.replace(from), to);
    }
}

class NfcMap : public testing::Test {
  protected:
    static std::string apply(std::u32string_view text) {
        static const MapReader reader(nfc_character_map());
        return reader.replace(encode_utf8(text));
    }
    static void expect_nfc(const std::u32string& text) { ASSERT_EQ(apply(text), encode_utf8(to_nfc(text))); }
};

TEST_F(NfcMap, IsSoundAndSmall) {
    EXPECT_NO_THROW(check_character_map(nfc_character_map()));
    EXPECT_LT(nfc_character_map().size(), 400'000u);
}

TEST_F(NfcMap, ComposesEveryCharacterHoweverItIsWritten) {
    for (char32_t c = 0xA0; c < 0x110000; c += c == 0xD7FF ? 0x801 : 1)
        if (c != 0x2028 && c != 0x2029) expect_nfc({c});
    for (const Decomposition& each : decompositions())
        for (const std::u32string& text : canonical_equivalents(std::u32string{each.composed})) expect_nfc(text);
    for (char32_t c = 0xAC00; c <= 0xD7A3; c += 7)
        for (const std::u32string& text : canonical_equivalents(std::u32string{c})) expect_nfc(text);
}

TEST_F(NfcMap, ComposesALetterWithTwoMarks) {
    std::vector<char32_t> marks;
    for (const Decomposition& each : decompositions())
        if (each.second >= 0x300 && each.second <= 0x36F) marks.push_back(each.second);
    Sequence random(1);
    for (int i = 0; i < 20'000; ++i) {
        const std::u32string text{U"aeiouyAEIOUYnshq\u03b1\u03b9\u0438"[random.below(19)], marks[random.below(marks.size())],
                                  marks[random.below(marks.size())]};
        for (const std::u32string& one : {text, to_nfd(text), to_nfc(text.substr(0, 2)) + text[2]}) expect_nfc(one);
    }
    // Hebrew letters with three marks.
    for (char32_t a = 0x5B0; a <= 0x5BC; ++a)
        for (const char32_t dot : {0x5C1, 0x5C2})
            for (const std::u32string& text : canonical_equivalents(std::u32string{a, dot, a == 0x5BC ? U'\u05bf' : U'\u05bc'}))
                expect_nfc(text);
}

TEST_F(NfcMap, LeavesComposedTextAsItIs) {
    const std::u32string kept =
        U"5 m\u00b2, \u00bd \ufb01 1\u00b2 \uff01\uff1b \u200c\u200d\u200b\u00ad Foo\u2122 "
        U"10\u00a0\u20ac\u202f\u3000\ufeff\ufffd\x01\x7f";
    EXPECT_EQ(apply(kept), encode_utf8(kept));
    Sequence random(5);
    for (int i = 0; i < 20'000; ++i) {
        std::u32string text;
        for (int length = 0; length < 12; ++length) {
            const auto c = static_cast<char32_t>(0xA0 + random.below(i % 2 == 0 ? 0x2FFF : 0x2F000));
            if ((c < 0xD800 || c > 0xDFFF) && c != 0x2028 && c != 0x2029) text += c;
        }
        text = to_nfc(text);
        ASSERT_EQ(apply(text), encode_utf8(text));
    }
    EXPECT_EQ(apply(U"a\tb\u2028c\u0085d\re"), "a b c d e");
}

}  // namespace
}  // namespace heddle::app
