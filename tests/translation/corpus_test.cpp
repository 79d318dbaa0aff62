#include "apps/translation/text/corpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "apps/translation/text/unicode.h"
#include "core/error.h"
#include "tests/support.h"
#include "tests/translation/text_support.h"

namespace heddle::app {
namespace {

using Lines = std::vector<std::string>;
using testing::ElementsAre;
using testing::HasSubstr;
using namespace std::string_literals;

class CorpusFiles : public testing::Test {
  protected:
    std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
    void write(const std::string& name, const std::string& bytes) const { std::ofstream(path(name), std::ios::binary) << bytes; }
    /// Reads t.de and t.en, or t, and records the notes.
    Corpus read(Reading reading = {}) {
        said_.clear();
        reading.say = [this](std::string_view line) { said_.emplace_back(line); };
        return read_corpus(path("t"), "de", "en", reading);
    }

    Lines said_;

  private:
    TemporaryFolder folder_;
};

TEST_F(CorpusFiles, ThatDoNotFitAreNamed) {
    const auto refused = [&](const std::map<std::string, std::string>& files, const std::string& part, Reading reading = {}) {
        for (const char* name : {"t", "t.de", "t.en"}) std::filesystem::remove(path(name));
        for (const auto& [name, bytes] : files) write(name, bytes);
        EXPECT_THAT(error_of([&] { read(reading); }), HasSubstr(part));
    };
    refused({{"t.de", "a\nb\nc\n"}, {"t.en", "a\nb\n"}}, "t.de has 3 lines, but " + path("t.en") + " has 2 lines");
    refused({}, "t.de: cannot be read");
    refused({{"t.de", ""}}, "t.en");
    refused({{"t.de", ""}, {"t.en", ""}}, "are empty");
    refused({{"t", "eins\n"}}, path("t") + " is a file, but there is no " + path("t.de") +
                                   "; wanted the PREFIX of two files, without the ending of a language");
    for (const auto& [bytes, line] :
         {std::pair("a\tb\nc d\n", ":2: "), {"a\tb\n\n", ":2: "}, {"a\n", ":1: "}, {"a\tb\nc\td\n ", ":3: "}})
        refused({{"t", bytes}}, path("t") + line + "there is no tab in this line", {.tsv = true});
    refused({{"t", bom}}, "t is empty", {.tsv = true});
}

// One line of every ten with text is held out, drawn by the seed; nothing is in both parts, and nothing is lost.
TEST_F(CorpusFiles, OfALanguageModelAreTwoParts) {
    std::string text;
    Lines all;
    for (int i = 0; i < 95; ++i) {
        all.push_back("line " + std::to_string(i));
        text += all.back() + (i % 20 == 3 ? "\n \n" : "\n");
    }
    write("t", text);
    std::vector<Lines> held_out;
    for (const std::uint64_t seed : {1u, 2u}) {
        const Lines learned = read({.part = TextPart{.held_out = false, .seed = seed}}).targets();
        const Lines held = read({.part = TextPart{.held_out = true, .seed = seed}}).targets();
        EXPECT_GE(held.size(), 9u);
        EXPECT_LE(held.size(), 10u);
        for (std::size_t ten = 0; ten < 9; ++ten)
            EXPECT_EQ(std::count_if(held.begin(), held.end(),
                                    [&](const std::string& line) {
                                        const auto place = std::find(all.begin(), all.end(), line) - all.begin();
                                        return place / 10 == static_cast<std::ptrdiff_t>(ten);
                                    }),
                      1)
                << ten;
        Lines both = learned;
        both.insert(both.end(), held.begin(), held.end());
        EXPECT_EQ(std::multiset<std::string>(both.begin(), both.end()), std::multiset<std::string>(all.begin(), all.end()))
            << "seed " << seed;
        held_out.push_back(held);
    }
    EXPECT_NE(held_out[0], held_out[1]);
}

TEST_F(CorpusFiles, OfOneLineTeachWhateverTheSeed) {
    write("t", "\nonly\n");
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        EXPECT_THAT(read({.part = TextPart{.held_out = false, .seed = seed}}).targets(), ElementsAre("only")) << seed;
        EXPECT_EQ(read({.part = TextPart{.held_out = true, .seed = seed}}).size(), 0) << seed;
    }
}

TEST_F(CorpusFiles, AreReadInPiecesAsTheyAreAsAWhole) {
    write("t", "a\tA\nb\tB\textra\nc\tC\n");
    write("t.de", "a\nb\n\xff\nd\ne\n");
    write("t.en", "A\nB\nC\nD\nE\n");
    write("talk.de", "<url>x</url>\na\nb\nc\n");
    write("talk.en", "<url>y</url>\nA\nB\nC\n");
    const auto check = [&](const std::string& name, Reading reading) {
        const auto saying = [](Lines& said) { return [&](std::string_view line) { said.emplace_back(line); }; };
        Lines said, said_in_pieces;
        reading.say = saying(said);
        const Corpus whole = read_corpus(path(name), "de", "en", reading);
        reading.say = saying(said_in_pieces);
        CorpusReader reader(path(name), "de", "en", reading);
        std::vector<SentencePair> pairs;
        for (Corpus piece = reader.next(2); piece.size() > 0; piece = reader.next(2)) {
            EXPECT_LE(piece.size(), 2);
            pairs.insert(pairs.end(), piece.pairs.begin(), piece.pairs.end());
        }
        EXPECT_EQ(reader.next(2).size(), 0);
        EXPECT_EQ(pairs, whole.pairs);
        EXPECT_EQ(said_in_pieces, said);
        EXPECT_GE(said.size(), 1u) << name;
    };
    check("t", {.tsv = true});
    check("t", {.replace_invalid = true});
    check("talk", {.say = nullptr});
}

TEST_F(CorpusFiles, ThatNeededAChangeAreNamedOnceEach) {
    write("t.de", "gr\xFCn\nb\xFC\n" + std::string(70000, 'x') + "\n");
    write("t.en", "green\nstage\nx\0\n"s);
    EXPECT_EQ(read({.replace_invalid = true}).size(), 3);
    EXPECT_THAT(said_, ElementsAre(path("t.de") + ": replaced what is not UTF-8 by U+FFFD in 2 lines",
                                   path("t.de") + ": cut 1 line to 65,536 bytes, the longest a line may be",
                                   path("t.en") + ": replaced what is not UTF-8 by U+FFFD in 1 line"));
}

TEST_F(CorpusFiles, WithTheSameTextOnBothSidesAreSuspicious) {
    write("t", "a\ta\nb\tb\n");
    read({.tsv = true});
    EXPECT_THAT(said_, ElementsAre("warning: both columns of " + path("t") +
                                   " hold the same text: source and target do not differ anywhere"));
    write("t", "a\ta\nb\tB\nc\tc\n");
    read({.tsv = true});
    EXPECT_TRUE(said_.empty());
}

TEST(Corpus, FromStandardInputNeedsColumns) { EXPECT_THROW(read_corpus("-", "de", "en"), UsageError); }

TEST(Utf8, GoesToCodePointsAndBack) {
    const std::string text = "a\u00df\u20ac\U0001F600\x7f";
    EXPECT_TRUE(is_utf8(text));
    EXPECT_EQ(decode_utf8(text), U"a\u00df\u20ac\U0001F600\x7f");
    EXPECT_EQ(encode_utf8(decode_utf8(text)), text);
}

TEST(Utf8, RefusesOverlongSurrogateTruncatedAndTooLargeForms) {
    for (const std::string bad :
         {"\xC0\xAF", "\xE0\x80\xAF", "\xF0\x80\x80\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xFF", "\x80", "\xE2\x82"}) {
        EXPECT_FALSE(is_utf8(bad));
        EXPECT_EQ(decode_utf8(bad), std::u32string(bad.size(), replacement_character));
    }
    EXPECT_EQ(decode_utf8("a\xE2\x82z"), U"a\uFFFD\uFFFDz");
}

TEST(LowerCase, KnowsTheSpecialCases) {
    EXPECT_EQ(to_lower(std::string_view("\u00c4PFEL STRA\u1e9eE \u0130I")), "\u00e4pfel stra\u00dfe i\u0307i");
    EXPECT_EQ(to_lower(std::string_view("\u039f\u0394\u039f\u03a3 \u03a3A")), "\u03bf\u03b4\u03bf\u03c2 \u03c3a");
    EXPECT_EQ(to_lower(U"\U00010400\u0100\u0101\u0102"), U"\U00010428\u0101\u0101\u0103");
}

TEST(Spaces, AreThoseOfPython) {
    for (const char32_t c : std::u32string_view(U"\t\n\v\f\r\x1c\x1f \x85\u00a0\u1680\u2000\u200a\u2028\u202f\u205f\u3000")) {
        EXPECT_TRUE(is_space(c)) << static_cast<unsigned>(c);
    }
    for (const char32_t c : std::u32string_view(U"\x1b!\u180e\u200b\u2060\ufeff")) {
        EXPECT_FALSE(is_space(c)) << static_cast<unsigned>(c);
    }
}

TEST(Spaces, StandBetweenWords) {
    EXPECT_THAT(split_at_spaces(U"\u3000ein\t\u00a0 Hund\n"), ElementsAre(U"ein", U"Hund"));
    EXPECT_THAT(split_at_spaces(U"Hund"), ElementsAre(U"Hund"));
    EXPECT_TRUE(split_at_spaces(U"").empty());
    EXPECT_TRUE(split_at_spaces(U" \t").empty());
}

}  // namespace
}  // namespace heddle::app
