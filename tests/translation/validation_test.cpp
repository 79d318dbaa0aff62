#include "apps/translation/training/validation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(Validation, KnowsThatBleuMeasuresNothingOfReferencesOfLessThanFourWords) {
    const TrainingData data = copy_data(50, 3);
    nn::Transformer model(tiny_model(data));
    Corpus text{.pairs = {{"a b c d", "a b c"}, {"a", "ab."}, {"b", "b"}}};
    const auto validated = [&] {
        return validate(model, data.validation, plan_validation(model, data.validation, 3000), text,
                        [](const nn::Transformer&, const std::vector<std::string>& lines) { return lines; }, {});
    };
    ValidationReport report = validated();
    EXPECT_FALSE(report.bleu_applies);
    EXPECT_TRUE(report.bleu) << "it is in the log all the same";
    EXPECT_DOUBLE_EQ(*report.exact_share(), 1.0 / 3);
    EXPECT_TRUE(report.chrf) << "chrF measures them";
    text.pairs[1].target = "a b c.";  // four tokens: BLEU counts the full stop
    report = validated();
    EXPECT_TRUE(report.bleu_applies);
    EXPECT_FALSE(report.chrf);
    text.pairs.resize(40, {"b", "b"});
    EXPECT_FALSE(validated().bleu_applies) << "one reference of many";
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
}

}  // namespace
}  // namespace heddle::app
