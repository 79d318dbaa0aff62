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
    text.pairs[1].target = "a b c.";  // four: BLEU counts the full stop
    EXPECT_TRUE(validated().bleu_applies);
}

}  // namespace
}  // namespace heddle::app
