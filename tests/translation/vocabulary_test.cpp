#include "apps/translation/vocabulary/vocabulary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "apps/translation/text/unicode.h"
#include "apps/translation/vocabulary/protobuf.h"
#include "tests/shell.h"
#include "tests/support.h"

namespace heddle::app {
namespace {

using Lines = std::vector<std::string>;
using Ids = std::vector<std::int32_t>;

const Lines sample{"The quick brown fox, who jumps over the lazy dog, isn't lazy!",
                   "A na\u00efve caf\u00e9 (na\u00efve?) costs 3.50 \u20ac -- or 10%.",
                   "\"Gr\u00fc\u00dfe,\" sagte er; \u201edas ist gut\u201c...", "the dog sees the fox and the fox sees the dog"};

/// A vocabulary's file.
struct SavedVocabulary {
    explicit SavedVocabulary(const Vocabulary& vocabulary) { vocabulary.save(path()); }
    std::string path() const { return folder / "vocab"; }
    std::unique_ptr<Vocabulary> load() const { return Vocabulary::load(path()); }

    TemporaryFolder folder;
};

void write(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

class EveryType : public testing::TestWithParam<VocabularyType> {
  protected:
    VocabularyOptions options(bool lowercase = false) const {
        const bool subwords = GetParam() == VocabularyType::bpe || GetParam() == VocabularyType::unigram;
        return {.type = GetParam(), .size = subwords ? 64 : 0, .lowercase = lowercase};
    }
};

INSTANTIATE_TEST_SUITE_P(Vocabulary, EveryType,
                         testing::Values(VocabularyType::bpe, VocabularyType::unigram, VocabularyType::word,
                                         VocabularyType::character),
                         [](const auto& info) { return std::string(word_of(info.param)); });

TEST_P(EveryType, GivesBackTheTextItWasTrainedOn) {
    const auto vocabulary = train_vocabulary(options(), sample);
    EXPECT_EQ(vocabulary->type(), GetParam());
    for (const std::string& line : sample) {
        const Ids ids = vocabulary->encode(line);
        for (const std::int32_t id : ids) EXPECT_TRUE(id > eos_id && id < vocabulary->size());
        EXPECT_EQ(vocabulary->decode(ids), line);
    }
}

TEST_P(EveryType, IsTheSameAfterSavingAndLoading) {
    const auto vocabulary = train_vocabulary(options(true), sample);
    const SavedVocabulary saved(*vocabulary);
    const auto loaded = saved.load();
    EXPECT_EQ(loaded->serialized(), vocabulary->serialized());
    EXPECT_EQ(loaded->type(), GetParam());
    EXPECT_TRUE(loaded->lowercase());
    EXPECT_EQ(loaded->size(), vocabulary->size());
    for (const std::string& line : sample) EXPECT_EQ(loaded->encode(line), vocabulary->encode(line));
    for (std::int32_t id = 0; id < loaded->size(); ++id) EXPECT_EQ(loaded->token(id), vocabulary->token(id));
}

TEST_P(EveryType, LowersTheTextWhenAskedTo) {
    const auto vocabulary = train_vocabulary(options(true), sample);
    EXPECT_EQ(vocabulary->encode("THE QUICK GR\u00dc\u00dfE"), vocabulary->encode("the quick gr\u00fc\u00dfe"));
    EXPECT_EQ(vocabulary->decode(vocabulary->encode(sample[0])), to_lower(std::string_view(sample[0])));
    const auto mixed = train_vocabulary(options(false), sample);
    EXPECT_FALSE(mixed->lowercase());
    EXPECT_NE(mixed->encode("The"), mixed->encode("the"));
}

TEST_P(EveryType, SkipsPadBosAndEosAndShowsTheUnknown) {
    const auto vocabulary = train_vocabulary(options(), sample);
    const Ids fox = vocabulary->encode("the fox");
    Ids wrapped{bos_id};
    wrapped.insert(wrapped.end(), fox.begin(), fox.end());
    wrapped.insert(wrapped.end(), {eos_id, pad_id, pad_id});
    EXPECT_EQ(vocabulary->decode(wrapped), "the fox");
    EXPECT_NE(vocabulary->decode(Ids{unk_id}).find("\u2047"), std::string::npos);
    const Ids unknown = vocabulary->encode("\u4e2d");
    EXPECT_EQ(std::count(unknown.begin(), unknown.end(), unk_id), 1);
}

TEST_P(EveryType, TakesEmptyTextAndBytesThatAreNotUtf8) {
    const auto vocabulary = train_vocabulary(options(), sample);
    EXPECT_TRUE(vocabulary->encode("").empty());
    EXPECT_EQ(vocabulary->decode({}), "");
    EXPECT_FALSE(vocabulary->encode("dog \xff\xc3").empty());
}

TEST_P(EveryType, RefusesIdsItDoesNotHave) {
    const auto vocabulary = train_vocabulary(options(), sample);
    const auto size = static_cast<std::int32_t>(vocabulary->size());
    EXPECT_THROW(vocabulary->decode(Ids{size}), Error);
    EXPECT_THROW(vocabulary->decode(Ids{-1}), Error);
    EXPECT_THROW(vocabulary->token(size), Error);
    EXPECT_THROW(vocabulary->token(-1), Error);
}

TEST_P(EveryType, NeedsText) {
    EXPECT_THROW(train_vocabulary(options(), Lines{}), Error);
    EXPECT_THROW(train_vocabulary(options(), (Lines{"", ""})), Error);
}

TEST_P(EveryType, IsSilent) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const auto vocabulary = train_vocabulary(options(), sample);
    const SavedVocabulary saved(*vocabulary);
    saved.load()->encode(sample[0]);
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

class Subwords : public EveryType {};
INSTANTIATE_TEST_SUITE_P(Vocabulary, Subwords, testing::Values(VocabularyType::bpe, VocabularyType::unigram),
                         [](const auto& info) { return std::string(word_of(info.param)); });

// The largest vocabulary that the lines allow.
std::unique_ptr<Vocabulary> largest(VocabularyType type, Normalization normalization, const Lines& lines) {
    VocabularyOptions options{.type = type, .size = 5000, .normalization = normalization};
    try {
        return train_vocabulary(options, lines);
    } catch (const VocabularySizeError& error) {
        options.size = error.size_that_works;
        return train_vocabulary(options, lines);
    }
}

TEST_P(Subwords, ThatAreTooManyOrTooFewNameASizeThatWorks) {
    for (const auto& [size, words] : {std::pair(5000, "the largest that works is "), {9, "the smallest that works is "}}) {
        VocabularyOptions options{.type = GetParam(), .size = size};
        try {
            train_vocabulary(options, sample);
            FAIL() << "a vocabulary of " << size;
        } catch (const VocabularySizeError& error) {
            options.size = error.size_that_works;
            EXPECT_NE(std::string(error.what()).find(words + std::to_string(options.size)), std::string::npos) << error.what();
        }
        EXPECT_EQ(train_vocabulary(options, sample)->size(), options.size);
        options.size = size == 9 ? options.size - 1 : 4 * options.size;
        EXPECT_THROW(train_vocabulary(options, sample), Error);
    }
}

TEST_P(Subwords, WithTextThatSentencePieceThrowsAwayAreAnErrorNotTheEndOfTheProgram) {
    for (const Normalization normalization : {Normalization::nfc, Normalization::none, Normalization::nfkc})
        EXPECT_THROW(train_vocabulary({.type = GetParam(), .size = 64, .normalization = normalization},
                                      (Lines{"  ", "\u2585", "\u2581 \u2585\u2585"})),
                     VocabularyTextError);
    EXPECT_THROW(largest(GetParam(), Normalization::nfkc, {"\u200b", "\x01\x02", "\ufffd"}), VocabularyTextError);
}

TEST_P(Subwords, LearnFromAnyCharacters) {
    for (const std::string word : {"\u2801\u2803\u2809", "\U0001F600\U0001F680", "\ue000\uf8ff", "\U0001D11E\u2669",
                                   "\u2200\u2211\u222b", "?!...", "\u200b\u2060", "\u0301\u0302"}) {
        Lines lines;
        for (int i = 0; i < 8; ++i) lines.push_back(word + " " + word.substr(0, i % 2 == 0 ? word.size() : utf8_length(word)));
        for (const Normalization normalization : {Normalization::nfc, Normalization::none}) {
            const auto vocabulary = largest(GetParam(), normalization, lines);
            for (const std::string& line : lines) EXPECT_EQ(vocabulary->decode(vocabulary->encode(line)), line);
        }
    }
}

TEST_P(Subwords, LearnFromLongLinesAndAroundTheTrainersOwnSign) {
    std::string spaced = "x", solid;
    while (spaced.size() < 9000) spaced += " jumps";
    while (solid.size() < 9000) solid += "\u4e2d\u6587";
    const Lines lines{spaced + " q", solid + "z", "left \u2585 right", sample[0]};
    const auto vocabulary = largest(GetParam(), Normalization::nfc, lines);
    for (const std::string text : {"jumps q", "\u4e2d\u6587z", "left right"})
        EXPECT_EQ(vocabulary->decode(vocabulary->encode(text)), text);
    EXPECT_EQ(vocabulary->unknown_parts("left \u2585 right"), (Lines{"\u2585"}));
}

const Lines signs{"5 m\u00b2, 1\u00b2, \u00bd pound\u2026",
                  "\u4f60\u597d\uff0c\u4e16\u754c\uff01 \ufb01ne, 10\u00a0\u20ac, Foo\u2122",
                  "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"};

TEST_P(Subwords, GiveBackEverySignUnlessTheyReplaceSimilarOnes) {
    for (const Normalization normalization : {Normalization::nfc, Normalization::none}) {
        const auto vocabulary = largest(GetParam(), normalization, signs);
        for (const std::string& line : signs) EXPECT_EQ(vocabulary->decode(vocabulary->encode(line)), line);
    }
    const auto nfkc = largest(GetParam(), Normalization::nfkc, signs);
    EXPECT_EQ(nfkc->decode(nfkc->encode("5 m\u00b2")), "5 m2");
}

TEST_P(Subwords, HaveOneSpellingForTheSameCharacters) {
    const Lines text{"caf\u00e9 na\u00efve"};
    const std::string decomposed = "cafe\u0301 nai\u0308ve";
    for (const Normalization normalization : {Normalization::nfc, Normalization::nfkc}) {
        const auto vocabulary = largest(GetParam(), normalization, text);
        EXPECT_EQ(vocabulary->encode(decomposed), vocabulary->encode(text[0]));
        EXPECT_EQ(largest(GetParam(), normalization, {decomposed})->serialized(), vocabulary->serialized());
    }
    const auto none = largest(GetParam(), Normalization::none, {decomposed});
    EXPECT_EQ(none->decode(none->encode(decomposed)), decomposed);
}

TEST_P(Subwords, KnowTheirNormalizationWhereverTheyAreLoaded) {
    for (const Normalization normalization : {Normalization::nfc, Normalization::none, Normalization::nfkc})
        for (const bool lowercase : {false, true}) {
            const auto vocabulary = train_vocabulary(
                {.type = GetParam(), .size = 64, .lowercase = lowercase, .normalization = normalization}, sample);
            const SavedVocabulary saved(*vocabulary);
            EXPECT_EQ(saved.load()->normalization(), normalization);
            EXPECT_EQ(saved.load()->encode(signs[1]), vocabulary->encode(signs[1]));
        }
    EXPECT_EQ(train_vocabulary({.type = VocabularyType::word, .size = 0}, sample)->normalization(), std::nullopt);
    EXPECT_EQ(train_vocabulary({.type = GetParam(), .size = 64}, sample)->normalization(), Normalization::nfc);
}

// SentencePiece itself reads the model, and splits each line into the same tokens.
TEST_P(Subwords, AreSentencePieces) {
    HEDDLE_NEEDS_PYTHON_WITH("sentencepiece");
    const Lines lines{sample[1],
                      sample[2],
                      signs[0],
                      signs[1],
                      signs[2],
                      "cafe\u0301 a\u0302\u0323 \u1112\u1161\u11ab",
                      "  a \t b\u00a0c\u2028",
                      "\u05e9\u05c1\u05bc \u2581 \ufb01"};
    const std::string script =
        "import sys, sentencepiece as s; p = s.SentencePieceProcessor(model_file=sys.argv[1]); "
        "[print(*p.encode(l.strip(\"\\n\"))) for l in open(sys.argv[1] + \".text\", encoding=\"utf-8\", newline=\"\\n\")]";
    for (const Normalization normalization : {Normalization::nfc, Normalization::none, Normalization::nfkc}) {
        const auto vocabulary = largest(GetParam(), normalization, signs);
        const SavedVocabulary saved(*vocabulary);
        std::string text, wanted;
        for (const std::string& line : lines) {
            text += line + "\n";
            wanted += fmt::format("{}\n", fmt::join(vocabulary->encode(line), " "));
        }
        write(saved.path() + ".text", text);
        const ShellOutput output = shell(quoted(python()) + " -c " + quoted(script) + " " + quoted(saved.path()));
        EXPECT_EQ(output.text, wanted) << word_of(normalization);
        std::filesystem::remove(saved.path() + ".text");
    }
}

// The model with other pieces as special tokens, whose names are in trainer_spec's fields 45 to 48.
std::string renamed(std::string model, unsigned field, std::string_view piece) {
    std::string spec;
    put_bytes(spec, field, piece);
    put_bytes(model, 2, spec);
    return model;
}

TEST(SentencePieceModel, MayNumberItsTokensInAnyWay) {
    const auto vocabulary = train_vocabulary({.size = 64}, sample);
    const SavedVocabulary saved(*vocabulary);
    const std::string without_pad = renamed(vocabulary->serialized(), 48, "zz");
    write(saved.path(), without_pad);
    const auto numbered = saved.load();
    EXPECT_EQ(numbered->serialized(), without_pad);
    EXPECT_EQ(numbered->size(), 65);  // a pad is added, and the piece <pad> is an ordinary one
    for (std::int32_t id = 0; id < 4; ++id) EXPECT_EQ(numbered->token(id), vocabulary->token(id));
    for (std::int32_t id = 4; id < 64; ++id) EXPECT_EQ(numbered->token(id + 1), vocabulary->token(id));
    for (const std::string& line : sample) {
        Ids wanted = vocabulary->encode(line);
        for (std::int32_t& id : wanted) ++id;
        Ids ids = numbered->encode(line);
        EXPECT_EQ(ids, wanted);
        ids.insert(ids.begin(), {bos_id, pad_id});
        ids.push_back(eos_id);
        EXPECT_EQ(numbered->decode(ids), line);
    }
    EXPECT_EQ(numbered->unknown_parts("the \u4e2d"), (Lines{"\u4e2d"}));
    EXPECT_EQ(numbered->decode(numbered->encode("\u4e2d")), vocabulary->decode(vocabulary->encode("\u4e2d")));
    EXPECT_THROW(numbered->token(65), Error);
    // Begin and end are exchanged.
    write(saved.path(), renamed(renamed(vocabulary->serialized(), 46, "</s>"), 47, "<s>"));
    EXPECT_EQ(saved.load()->size(), 64);
    EXPECT_EQ(saved.load()->token(bos_id), "</s>");
    EXPECT_EQ(saved.load()->encode(sample[0]), vocabulary->encode(sample[0]));
}

TEST(SentencePieceModel, IsNamedByItsAlgorithm) {
    const auto vocabulary = train_vocabulary({.type = VocabularyType::unigram, .size = 64}, sample);
    const SavedVocabulary saved(*vocabulary);
    const std::pair<char, std::string> cases[] = {
        {1, "unigram"}, {2, "bpe"}, {3, "SentencePiece word"}, {4, "SentencePiece char"}};
    for (const auto& [number, kind] : cases) {
        std::string model = vocabulary->serialized();
        put_bytes(model, 2, std::string{'\x18', number});  // trainer_spec { model_type }
        write(saved.path(), model);
        EXPECT_EQ(saved.load()->kind(), kind);
        EXPECT_EQ(saved.load()->type(), number == 2 ? VocabularyType::bpe : VocabularyType::unigram);
    }
}

TEST(SentencePieceModel, CanBeReadWithLowerCaseAskedForFromOutside) {
    const auto vocabulary = train_vocabulary({.size = 64}, sample);
    const SavedVocabulary saved(*vocabulary);
    const auto lowered = Vocabulary::load(saved.path(), true);
    EXPECT_TRUE(lowered->lowercase());
    EXPECT_EQ(lowered->encode("DOG"), vocabulary->encode("dog"));
    EXPECT_EQ(lowered->serialized(), vocabulary->serialized());
}

TEST(VocabularyFile, ThatIsNoneIsAClearError) {
    const auto vocabulary = train_vocabulary({.size = 64}, sample);
    const SavedVocabulary saved(*vocabulary);
    const std::string head = "heddle-vocabulary\tword\tmixed\n";
    const std::pair<std::string, std::string> cases[] = {
        {"", "not a vocabulary"},
        {"hello\n", "not a vocabulary"},
        {vocabulary->serialized().substr(0, 5000), "not a vocabulary"},
        {"heddle-vocabulary\tbpe\tmixed\na\t1\n", ":1: wanted the type word or char"},
        {"heddle-vocabulary\tword\n", ":1: wanted the type word or char"},
        {head, "without tokens"},
        {head + "a\t1\nb\n", ":3: wanted a token, a tab and a count"},
        {head + "a\tx\n", ":2: wanted a token, a tab and a count"},
        {head + "a\t1\nb\t1\na\t1\n", ":4: the token of line 2 again"},
        {head + "\xff\t1\n", ":2: wanted a token, a tab and a count"}};
    for (const auto& [bytes, wanted] : cases) {
        write(saved.path(), bytes);
        const std::string message = error_of([&] { saved.load(); });
        EXPECT_NE(message.find(wanted), std::string::npos) << message;
    }
    EXPECT_NE(error_of([] { Vocabulary::load("/nowhere/vocab.tsv"); }).find("/nowhere/vocab.tsv"), std::string::npos);
}

TEST(CharVocabulary, GivesBackEverySignItKnowsTabsAndBackslashesToo) {
    const Lines lines{" a\t\\t\\  b\r\u00a0\U0001F600 "};
    const auto vocabulary = train_vocabulary({.type = VocabularyType::character, .size = 0}, lines);
    const SavedVocabulary saved(*vocabulary);
    const auto loaded = saved.load();
    EXPECT_EQ(loaded->encode(lines[0]).size(), decode_utf8(lines[0]).size());
    EXPECT_EQ(loaded->decode(loaded->encode(lines[0])), lines[0]);
    EXPECT_EQ(loaded->decode(loaded->encode("a\nb")), "a\u2047b");
}

}  // namespace
}  // namespace heddle::app
