#include "apps/translation/corpus.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "apps/translation/unicode.h"
#include "core/error.h"

namespace heddle::app {
namespace {

using Lines = std::vector<std::string>;

Lines lines_of(const std::string& text) {
    std::istringstream stream(text);
    return read_lines(stream, "text");
}

template <class Action>
std::string message_of(Action action) {
    try {
        action();
    } catch (const Error& error) {
        return error.what();
    }
    return "no error";
}

/// A folder of the test's own, removed at the end.
class CorpusFiles : public testing::Test {
  protected:
    CorpusFiles()
        : folder_(std::filesystem::path(testing::TempDir()) /
                  (std::string("heddle_") + testing::UnitTest::GetInstance()->current_test_info()->name())) {
        std::filesystem::create_directories(folder_);
    }
    ~CorpusFiles() override { std::filesystem::remove_all(folder_); }

    std::string path(const std::string& name) const { return (folder_ / name).string(); }
    void write(const std::string& name, const std::string& bytes) const { std::ofstream(path(name), std::ios::binary) << bytes; }

  private:
    std::filesystem::path folder_;
};

TEST(ReadLines, TakesLfCrlfAndAMissingLastEnd) {
    const Lines wanted{"eins", "zwei", "", "drei"};
    EXPECT_EQ(lines_of("eins\nzwei\n\ndrei\n"), wanted);
    EXPECT_EQ(lines_of("eins\r\nzwei\r\n\r\ndrei"), wanted);
    EXPECT_TRUE(lines_of("").empty());
    EXPECT_EQ(lines_of("\n"), Lines{""});
}

TEST(ReadLines, DropsAByteOrderMarkAtTheStartOnly) {
    EXPECT_EQ(lines_of("\xEF\xBB\xBFgr\u00fcn\n\xEF\xBB\xBFx"), (Lines{"gr\u00fcn", "\xEF\xBB\xBFx"}));
}

TEST(ReadLines, KeepsEverythingElseInALine) {
    EXPECT_EQ(lines_of(" a\t\u00a0b \u2028 c\rd \n"), Lines{" a\t\u00a0b \u2028 c\rd "});
}

TEST(ReadLines, NamesTheLineThatIsNotUtf8) {
    const std::string message = message_of([] { lines_of("ok\ngr\xFCn\n"); });
    EXPECT_EQ(message.substr(0, 34), "text:2: this line is not UTF-8; co") << message;
}

TEST_F(CorpusFiles, AreReadAsAlignedPairs) {
    write("train.de", "\xEF\xBB\xBFHallo Welt\r\n\r\nEnde");
    write("train.en", "Hello world\nmiddle\nThe end\n");
    const Corpus corpus = read_corpus(path("train"), "de", "en");
    ASSERT_EQ(corpus.size(), 3);
    EXPECT_EQ(corpus.pairs[0], (SentencePair{"Hallo Welt", "Hello world"}));
    EXPECT_EQ(corpus.pairs[1], (SentencePair{"", "middle"}));
    EXPECT_EQ(corpus.sources(), (Lines{"Hallo Welt", "", "Ende"}));
    EXPECT_EQ(corpus.both_sides(), (Lines{"Hallo Welt", "", "Ende", "Hello world", "middle", "The end"}));
}

TEST_F(CorpusFiles, WithDifferentLineCountsAreAnErrorWithBothCounts) {
    write("train.de", "a\nb\nc\n");
    write("train.en", "a\nb\n");
    const std::string message = message_of([&] { read_corpus(path("train"), "de", "en"); });
    EXPECT_NE(message.find("train.de has 3 lines"), std::string::npos) << message;
    EXPECT_NE(message.find("train.en has 2"), std::string::npos) << message;
}

TEST_F(CorpusFiles, ThatAreMissingOrEmptyAreNamed) {
    write("train.de", "");
    EXPECT_NE(message_of([&] { read_corpus(path("train"), "de", "en"); }).find("train.en"), std::string::npos);
    write("train.en", "");
    EXPECT_NE(message_of([&] { read_corpus(path("train"), "de", "en"); }).find("are empty"), std::string::npos);
}

TEST_F(CorpusFiles, ComeBackAsTheyWereWritten) {
    const Lines lines{"eins", "", " zwei \u00a0"};
    write_lines(path("out"), lines);
    EXPECT_EQ(read_lines(path("out")), lines);
}

TEST(Corpus, LeavesPairsWithAnEmptySideOutOfTrainingAndCountsThem) {
    const Corpus corpus{{{"a", "b"}, {"", "b"}, {"a", " \t\u00a0"}, {"", ""}, {"c", "d"}}};
    const TrainingPairs training = without_empty_sides(corpus);
    EXPECT_EQ(training.left_out, 3);
    EXPECT_EQ(training.corpus.pairs, (std::vector<SentencePair>{{"a", "b"}, {"c", "d"}}));
}

TEST(Corpus, ReadsTheRealParallelText) {
    const std::string prefix = HEDDLE_SOURCE_DIR "/../shared/data/multi30k/train";
    if (!std::filesystem::exists(prefix + ".de")) GTEST_SKIP() << "no parallel text at " << prefix;
    const Corpus corpus = read_corpus(prefix, "de", "en");
    EXPECT_EQ(corpus.size(), 29000);
    EXPECT_EQ(without_empty_sides(corpus).left_out, 0);
}

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

}  // namespace
}  // namespace heddle::app
