#include "apps/translation/vocabulary/unknown_text.h"

#include <gtest/gtest.h>

#include "apps/translation/batching/line_batches.h"

namespace heddle::app {
namespace {

using Lines = std::vector<std::string>;

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
