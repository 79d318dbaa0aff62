// Vocabularies of words: which words they keep, and how lines are split into words and rejoined.
#include <gtest/gtest.h>

#include <filesystem>

#include "apps/translation/text/text_file.h"
#include "apps/translation/text/unicode.h"
#include "apps/translation/text/words.h"
#include "apps/translation/vocabulary/vocabulary.h"
#include "core/error.h"

namespace heddle::app {
namespace {

using Lines = std::vector<std::string>;
using Ids = std::vector<std::int32_t>;

TEST(WordVocabulary, KeepsTheMostFrequentWords) {
    const Lines lines{"b a a c c c", "d c a"};
    const auto vocabulary = train_vocabulary({.type = VocabularyType::word, .size = 6}, lines);
    EXPECT_EQ(vocabulary->size(), 6);
    EXPECT_EQ(vocabulary->token(4), "c");
    EXPECT_EQ(vocabulary->token(5), "a");
    EXPECT_EQ(vocabulary->encode("a b c"), (Ids{5, unk_id, 4}));
    EXPECT_EQ(train_vocabulary({.type = VocabularyType::word, .size = 0, .min_count = 3}, lines)->size(), 6);
    EXPECT_EQ(train_vocabulary({.type = VocabularyType::word, .size = 0, .min_count = 2}, lines)->size(), 6);
    EXPECT_EQ(train_vocabulary({.type = VocabularyType::word, .size = 0}, lines)->size(), 8);
    EXPECT_EQ(vocabulary->serialized(), "heddle-vocabulary\tword\tmixed\nc\t4\na\t3\n");
    EXPECT_THROW(train_vocabulary({.type = VocabularyType::word, .size = 4}, lines), Error);
    EXPECT_THROW(train_vocabulary({.type = VocabularyType::word, .size = 0, .min_count = 9}, lines), Error);
    EXPECT_THROW(train_vocabulary({.type = VocabularyType::word, .size = 0, .min_count = 0}, lines), Error);
}

TEST(WordVocabulary, SplitsAroundPunctuationAndMarksTheJoins) {
    const std::string j = "\uFFED";
    EXPECT_EQ(split_words(U"He said: \"don't.\""),
              (Lines{"He", "said", j + ":", "\"" + j, "don", j + "'" + j, "t", j + ".", j + "\""}));
    EXPECT_EQ(split_words(U"3.50 \u20ac"), (Lines{"3", j + "." + j, "50", "\u20ac"}));
    EXPECT_TRUE(split_words(U" \t\u00a0").empty());
}

TEST(WordVocabulary, JoinsWhatItSplitExceptForKindsOfSpaces) {
    for (const std::string line : {"a", "!", "...", "a...b", "(a) [b]c {d", "--a-- b -- c", "\u201eJa\u201c, sagt' er: 'nein'!?",
                                   "e\u0301a \u4e2d\u6587\u3002x", "\U0001F468\u200D\U0001F469 ok", "http://a.b/c?d=e&f"}) {
        EXPECT_EQ(join_words(split_words(decode_utf8(line))), line);
    }
    EXPECT_EQ(join_words(split_words(U"  a \t b\u00a0c ")), "a b c");
    EXPECT_EQ(join_words(split_words(U"a \uFFED b\uFFED")), "a \u25A0 b\u25A0");
}

TEST(WordVocabulary, GivesBackRealText) {
    const std::string path = HEDDLE_SOURCE_DIR "/../shared/data/multi30k/val.de";
    if (!std::filesystem::exists(path)) GTEST_SKIP() << "no text at " << path;
    for (const std::string& line : read_text_file(path, {}).lines) {
        std::string single_spaces;
        for (const char32_t c : decode_utf8(line)) {
            if (!is_space(c)) {
                append_utf8(single_spaces, c);
            } else if (!single_spaces.empty() && single_spaces.back() != ' ') {
                single_spaces += ' ';
            }
        }
        if (single_spaces.ends_with(' ')) single_spaces.pop_back();
        ASSERT_EQ(join_words(split_words(decode_utf8(line))), single_spaces);
    }
}

TEST(WordVocabulary, IsTrainedOnLinesAtEvenDistancesWhenThereAreTooMany) {
    Lines lines;
    for (const char letter : std::string("abcdefghij")) lines.emplace_back(1, letter);
    const VocabularyOptions five{.type = VocabularyType::word, .size = 0, .max_lines = 5};
    EXPECT_EQ(train_vocabulary(five, lines)->serialized(), "heddle-vocabulary\tword\tmixed\na\t1\nc\t1\ne\t1\ng\t1\ni\t1\n");
    EXPECT_EQ(train_vocabulary({.type = VocabularyType::word, .size = 0, .max_lines = 10}, lines)->size(), 14);
    EXPECT_THROW(train_vocabulary({.type = VocabularyType::word, .size = 0, .max_lines = -1}, lines), Error);
}

}  // namespace
}  // namespace heddle::app
