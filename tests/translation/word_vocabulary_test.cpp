// Vocabularies of words: which words they keep, and how lines are split into words and rejoined; text with words or characters
// that a vocabulary lacks.
#include <gtest/gtest.h>

#include "apps/translation/batching/line_batches.h"
#include "apps/translation/text/text_file.h"
#include "apps/translation/text/unicode.h"
#include "apps/translation/text/words.h"
#include "apps/translation/vocabulary/unknown_text.h"
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

TEST(WordVocabulary, IsTrainedOnLinesAtEvenDistancesWhenThereAreTooMany) {
    Lines lines;
    for (const char letter : std::string("abcdefghij")) lines.emplace_back(1, letter);
    const VocabularyOptions five{.type = VocabularyType::word, .size = 0, .max_lines = 5};
    EXPECT_EQ(train_vocabulary(five, lines)->serialized(), "heddle-vocabulary\tword\tmixed\na\t1\nc\t1\ne\t1\ng\t1\ni\t1\n");
    EXPECT_EQ(train_vocabulary({.type = VocabularyType::word, .size = 0, .max_lines = 10}, lines)->size(), 14);
    EXPECT_THROW(train_vocabulary({.type = VocabularyType::word, .size = 0, .max_lines = -1}, lines), Error);
}

const Lines known = {"ein Hund, ein Haus", "das Haus ist klein", "der Hund ist da"};

// The notes about these lines, which arrive in pieces.
Lines said_of(VocabularyType type, const std::vector<Lines>& pieces) {
    const auto vocabulary = train_vocabulary({.type = type, .size = type == VocabularyType::bpe ? 30 : 0}, known);
    Lines said;
    UnknownText unknown("input", *vocabulary, [&](std::string_view line) { said.emplace_back(line); });
    for (const Lines& lines : pieces) unknown.look_at(lines, encode_lines(*vocabulary, lines));
    unknown.report();
    return said;
}

TEST(UnknownText, SaysNothingOfTextThatIsKnown) {
    for (const VocabularyType type : {VocabularyType::word, VocabularyType::character, VocabularyType::bpe})
        EXPECT_EQ(said_of(type, {known, {}, {"", " "}}), Lines{}) << word_of(type);
}

TEST(UnknownText, WarnsAtTheFirstPartAndCountsAtTheEnd) {
    const std::vector<Lines> pieces = {{"ein Haus", "ein QX, QX; da"}, {"da", "QX"}};
    EXPECT_EQ(said_of(VocabularyType::word, pieces),
              (Lines{"warning: input, line 2: 'QX' is not in the vocabulary; the model reads it as unknown",
                     "input: 4 words in 2 of 4 lines were not in the vocabulary"}));
    EXPECT_EQ(said_of(VocabularyType::character, pieces),
              (Lines{"warning: input, line 2: 'Q' is not in the vocabulary; the model reads it as unknown",
                     "input: 7 characters in 2 of 4 lines were not in the vocabulary"}));
    const Lines subwords = said_of(VocabularyType::bpe, {{"ein Haus"}, {"Haus Q"}});
    EXPECT_EQ(subwords, Lines{"warning: input, line 2: 'Q' is not in the vocabulary; the model reads it as unknown"});
}

// SentencePiece joins neighbouring unknown characters to one token.
TEST(UnknownText, CountsEachOfNeighbouringCharacters) {
    EXPECT_EQ(said_of(VocabularyType::bpe, {{"漢字漢字", "Haus", "漢字 Haus字"}}),
              (Lines{"warning: input, line 1: '漢字漢字' is not in the vocabulary; the model reads it as unknown",
                     "input: 7 characters in 2 of 3 lines were not in the vocabulary"}));
    EXPECT_EQ(said_of(VocabularyType::bpe, {{"Haus 漢字"}}),
              (Lines{"warning: input, line 1: '漢字' is not in the vocabulary; the model reads it as unknown",
                     "input: 2 characters in 1 of 1 line were not in the vocabulary"}));
}

TEST(UnknownText, CountsCharactersThatAreSpelledLikeAToken) {
    const auto vocabulary = train_vocabulary({.type = VocabularyType::bpe, .size = 15}, Lines{"ein Hund, ein Hund", "ein Ding"});
    const Lines lines = {"ein <s>"};
    Lines said;
    UnknownText unknown("input", *vocabulary, [&](std::string_view line) { said.emplace_back(line); });
    unknown.look_at(lines, encode_lines(*vocabulary, lines));
    unknown.report();
    EXPECT_EQ(said, (Lines{"warning: input, line 1: '<s>' is not in the vocabulary; the model reads it as unknown",
                           "input: 3 characters in 1 of 1 line were not in the vocabulary"}));
}

TEST(UnknownText, CountsNothingBeyondTheOneOfTheWarning) {
    EXPECT_EQ(said_of(VocabularyType::word, {{"Katze"}, {"Hund"}}),
              Lines{"warning: input, line 1: 'Katze' is not in the vocabulary; the model reads it as unknown"});
    EXPECT_EQ(said_of(VocabularyType::word, {{"Hund;"}}),
              Lines{"warning: input, line 1: ';' is not in the vocabulary; the model reads it as unknown"})
        << "without the mark that joins it to its word";
}

TEST(UnknownText, ShowsTheBeginningOfALongWordAndNoSignThatATerminalObeys) {
    EXPECT_EQ(said_of(VocabularyType::word, {{std::string(1000, 'x')}}),
              Lines{"warning: input, line 1: '" + std::string(40, 'x') +
                    "...' is not in the vocabulary; the model reads it as unknown"});
    EXPECT_EQ(said_of(VocabularyType::character, {{"d\x1b"}}),
              Lines{"warning: input, line 1: 'U+001B' is not in the vocabulary; the model reads it as unknown"});
    EXPECT_EQ(said_of(VocabularyType::character, {{"d\u00ad"}}),
              Lines{"warning: input, line 1: 'U+00AD' is not in the vocabulary; the model reads it as unknown"})
        << "nor one that nobody sees";
    EXPECT_EQ(said_of(VocabularyType::bpe, {{"\u2764\ufe0f"}}).front(),
              "warning: input, line 1: '\u2764\ufe0f' is not in the vocabulary; the model reads it as unknown")
        << "a selector belongs to its sign";
}

}  // namespace
}  // namespace heddle::app
