#include "apps/translation/text/normal_form.h"

#include <gtest/gtest.h>

#include <fstream>

#include "apps/translation/text/unicode.h"
#include "apps/translation/text/unicode_tables.h"
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

}  // namespace
}  // namespace heddle::app
