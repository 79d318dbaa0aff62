// What a validation counts, and what is said about a text that a vocabulary does not give back unchanged.
#include "apps/translation/training/validation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <algorithm>

#include "apps/translation/batching/batches.h"
#include "apps/translation/training/text_loss.h"
#include "tests/support.h"
#include "tests/translation/training_support.h"

namespace heddle::app {
namespace {

TEST(Validation, CountsTokensWithoutTouchingTheTape) {
    const TrainingData data = copy_data(50, 10);
    nn::Transformer model(tiny_model(data, 0.5));
    const std::int64_t before = tape_size();
    const ValidationReport a =
        validate(model, data.validation, plan_validation(model, data.validation, 3000), data.validation_text, {}, {});
    const ValidationReport b =
        validate(model, data.validation, plan_validation(model, data.validation, 20), data.validation_text, {}, {});
    EXPECT_EQ(tape_size(), before);
    EXPECT_TRUE(model.training()) << "the mode is given back";
    EXPECT_NEAR(a.loss, b.loss, 1e-6 * a.loss) << "no dropout, and batches do not matter";
    EXPECT_NEAR(a.perplexity, std::exp(a.loss), 1e-12);
    EXPECT_FALSE(a.bleu);
}

TEST(Validation, TranslatesTheFirstSentencesForBleu) {
    const TrainingData data = copy_data(50, 10);
    nn::Transformer model(tiny_model(data));
    const TranslateLines parrot = [](const nn::Transformer& used, const std::vector<std::string>& lines) {
        EXPECT_FALSE(used.training());
        return lines;
    };
    const ValidationReport report = validate(model, data.validation, plan_validation(model, data.validation, 3000),
                                             data.validation_text, parrot, {.sentences = 8, .samples = 3});
    EXPECT_EQ(report.translated, 8);
    ASSERT_TRUE(report.bleu);
    EXPECT_GT(*report.bleu, 99.9);
    EXPECT_TRUE(report.bleu_applies);
    EXPECT_EQ(report.exact_share(), 1);
    ASSERT_EQ(report.samples.size(), 3u);
    EXPECT_EQ(report.samples[0].source, data.validation_text.pairs[0].source);
    EXPECT_EQ(report.samples[0].hypothesis, report.samples[0].reference);
}

TEST(Validation, ScoresTheTargetsByTheirScript) {
    const TrainingData data = copy_data(50, 3);
    nn::Transformer model(tiny_model(data));
    const auto validated = [&](const std::string& target, const std::string& translation) {
        return validate(model, data.validation, plan_validation(model, data.validation, 3000), {.pairs = {{"a", target}}},
                        [&](const nn::Transformer&, const std::vector<std::string>&) { return std::vector{translation}; }, {});
    };
    ValidationReport report =
        validated("\u6211\u4eec\u4eca\u5929\u53bb\u4e0a\u5b66\u3002", "\u6211\u4eec\u4eca\u5929\u53bb\u5b66\u6821\u3002");
    EXPECT_EQ(report.tokenizer, Tokenizer::zh);
    EXPECT_GT(*report.bleu, 40) << "13a sees one word";
    EXPECT_TRUE(report.bleu_applies);
    EXPECT_FALSE(report.chrf);
    report = validated("\u0e09\u0e31\u0e19\u0e23\u0e31\u0e01\u0e41\u0e21\u0e27",
                       "\u0e09\u0e31\u0e19\u0e23\u0e31\u0e01\u0e2b\u0e21\u0e32");
    EXPECT_EQ(report.tokenizer, Tokenizer::character);
    EXPECT_TRUE(report.bleu_applies);
    ASSERT_TRUE(report.chrf);
    EXPECT_GT(*report.chrf, 10);
    EXPECT_LT(*report.chrf, 90);
    report = validated("one word", "one word");
    EXPECT_FALSE(report.bleu_applies);
    EXPECT_TRUE(report.bleu) << "it is in the log all the same";
    EXPECT_EQ(report.exact_share(), 1);
    EXPECT_TRUE(report.chrf) << "chrF measures it";
}

using Lines = std::vector<std::string>;

// The notes about these pairs with equal sides, given in two pieces, with a vocabulary of the same lines.
Lines said_of(const Lines& lines, VocabularyOptions options) {
    Vocabularies vocabularies;
    vocabularies.source = vocabularies.target = train_vocabulary(options, lines);
    TextLoss loss({.source = "t.de", .target = "t.en"}, vocabularies);
    Corpus first, second;
    for (std::size_t i = 0; i < lines.size(); ++i) (i < 2 ? first : second).pairs.push_back({"ab ab", lines[i]});
    for (const Corpus& piece : {first, second})
        loss.look_at(piece, encode_corpus(piece, *vocabularies.source, *vocabularies.target));
    Lines said;
    loss.report([&](std::string_view line) { said.emplace_back(line); });
    return said;
}

const Lines measures{"ab ab ab", "ab 5 m\u00b2", "ab  ab", "1\u00b2 ab"};

TEST(TextLoss, CountsLinesThatComeBackChanged) {
    EXPECT_EQ(
        said_of(measures, {.size = 15, .normalization = Normalization::nfkc}),
        Lines{"t.en: the vocabulary changes 2 of 4 lines, 'm\u00b2' to 'm2' for example; --vocab-normalization nfc keeps more"});
    EXPECT_EQ(
        said_of({"ab ab", "a\u200cb"}, {.size = 10, .normalization = Normalization::nfkc}),
        Lines{"t.en: the vocabulary changes 1 of 2 lines, 'aU+200Cb' to 'a' for example; --vocab-normalization nfc keeps more"});
    EXPECT_EQ(said_of({"ab cab", "abe\u0301", "ab"}, {.size = 12}),
              Lines{"t.en: the vocabulary changes 1 of 3 lines, 'abe\u0301' to 'ab\u00e9' for example"});
}

TEST(TextLoss, CountsWhatIsUnknown) {
    EXPECT_EQ(
        said_of({"ab ab", "ab \u2585\u2585 ab", "\u2585"}, {.size = 9}),
        Lines{
            "warning: t.en: 3 characters in 2 of 3 lines are not in the vocabulary, '\u2585\u2585' for example; the model takes "
            "them as unknown"});
    EXPECT_EQ(said_of({"ab ab", "ab cd", "ab ab cd ef"}, {.type = VocabularyType::word, .size = 0, .min_count = 2}),
              Lines{"warning: t.en: 1 words in 1 of 3 lines are not in the vocabulary, 'ef' for example; the model takes them as "
                    "unknown"});
}

TEST(TextLoss, SaysNothingOfTextThatComesBackButForSpacesAndCase) {
    for (const Normalization normalization : {Normalization::nfc, Normalization::none})
        EXPECT_EQ(said_of(measures, {.size = 15, .normalization = normalization}), Lines{});
    EXPECT_EQ(said_of({"AB ab", "aB\tb"}, {.size = 10, .lowercase = true}), Lines{});
    for (const VocabularyType type : {VocabularyType::word, VocabularyType::character})
        EXPECT_EQ(said_of(measures, {.type = type, .size = 0}), Lines{});
}

// Lines that are not decoded because their pieces are sure to spell them: these do.
TEST(TextLoss, LatinLinesComeBackAsTheyAre) {
    std::string letters;
    for (int c = 0x21; c < 0x7f; ++c) letters += static_cast<char>(c);
    for (int c = 0xc0; c < 0x300; ++c) letters += {static_cast<char>(0xc0 | c >> 6), static_cast<char>(0x80 | (c & 0x3f))};
    for (const Normalization normalization : {Normalization::nfc, Normalization::none})
        for (const VocabularyType type : {VocabularyType::bpe, VocabularyType::unigram}) {
            const std::vector<std::string_view> lines{letters, "  ab\"  ``ab'' ~ ", "x"};
            VocabularyOptions options{.type = type, .size = 900, .normalization = normalization};
            try {
                train_vocabulary(options, lines);
            } catch (const VocabularySizeError& error) {
                options.size = error.size_that_works;
            }
            const auto vocabulary = train_vocabulary(options, lines);
            for (const std::string& text : {letters, std::string("ab\" ``ab'' ~")}) {
                const std::vector<std::int32_t> tokens = vocabulary->encode(text);
                EXPECT_EQ(std::ranges::count(tokens, unk_id), 0);
                EXPECT_EQ(vocabulary->decode(tokens), text);
            }
        }
}

}  // namespace
}  // namespace heddle::app
