// Which length penalty is chosen, and when the one there is stays.
#include "apps/translation/decoding/length_penalty.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/translation/decoding/translate.h"
#include "tests/nn/decoding_support.h"
#include "tests/support.h"

namespace heddle::app {
namespace {

using testing::ElementsAre;
using testing::Field;

constexpr Criterion by_bleu{.metric = Metric::bleu}, by_exact{};

class LengthPenalty : public testing::Test {
  protected:
    LengthPenalty() {
        Sequence random(5);
        for (int i = 0; i < 60; ++i) {
            std::string line;
            for (std::uint64_t n = 1 + random.below(6); n > 0; --n) line += "w" + std::to_string(random.below(20)) + " ";
            line.pop_back();
            lines_.push_back(line);
        }
        VocabularyOptions options;
        options.type = VocabularyType::word;
        vocabularies_.source = vocabularies_.target = train_vocabulary(options, lines_);
        model_ = nn::random_model(vocabularies_.source->size(), 2);
    }

    std::vector<std::string> translated(double length_penalty) const {
        return translate_lines(*model_, vocabularies_, lines_, {.length_penalty = length_penalty});
    }
    PenaltyChoice choose(const std::vector<std::string>& references, const Criterion& criterion, double before = 1) const {
        Corpus text;
        for (std::size_t i = 0; i < lines_.size(); ++i) text.pairs.push_back({lines_[i], references[i]});
        return *choose_length_penalty(*model_, vocabularies_, text, {.length_penalty = before}, criterion);
    }

    std::vector<std::string> lines_;
    Vocabularies vocabularies_;
    nn::Model model_;
};

TEST_F(LengthPenalty, IsTheOneWhoseTranslationsAreTheReferences) {
    const std::vector<std::string> wanted = translated(1);
    ASSERT_TRUE(wanted != translated(0.5)) << "penalties must differ, or the test shows nothing";
    for (const Criterion criterion : {by_bleu, by_exact, Criterion{Metric::chrf, Tokenizer::character}}) {
        const PenaltyChoice choice = choose(wanted, criterion, 0);
        EXPECT_EQ(choice.best.length_penalty, 1);
        EXPECT_NEAR(choice.best.score, 100, 1e-9);
        EXPECT_EQ(choice.best.brevity_penalty, 1);
        EXPECT_EQ(choice.before.length_penalty, 0);
        EXPECT_LT(choice.before.score, 100);
        EXPECT_LT(choice.before.brevity_penalty, 1) << "log p alone writes too little";
        EXPECT_EQ(choice.trials.size(), 6u) << "the one before is tried, too";
    }
}

TEST_F(LengthPenalty, StaysWhenNoOtherIsBetter) {
    const PenaltyChoice choice = choose(std::vector<std::string>(lines_.size(), "nothing like it"), by_exact);
    EXPECT_EQ(choice.best.length_penalty, 1) << "all are equally bad";
    std::vector<double> tried;
    for (const PenaltyTrial& trial : choice.trials) tried.push_back(trial.length_penalty);
    EXPECT_GT(tried.size(), 3u);
    EXPECT_TRUE(std::is_sorted(tried.begin(), tried.end()));
}

TEST_F(LengthPenalty, IsNotTriedWhereNothingCanBeBetter) {
    const PenaltyChoice choice = choose(translated(1), by_exact);
    EXPECT_EQ(choice.best.length_penalty, 1);
    EXPECT_THAT(choice.trials, ElementsAre(Field(&PenaltyTrial::score, 100)));
}

TEST_F(LengthPenalty, IsNotChosenWhenTheWatchStopsIt) {
    Corpus text;
    for (const std::string& line : lines_) text.pairs.push_back({line, "nothing like it"});
    std::vector<double> tried;
    const auto choose_until = [&](std::size_t count) {
        const PenaltyWatch watch{.tried = [&](const PenaltyTrial& trial) { tried.push_back(trial.length_penalty); },
                                 .stop = [&] { return tried.size() == count; }};
        return choose_length_penalty(*model_, vocabularies_, text, {}, by_exact, watch).has_value();
    };
    EXPECT_FALSE(choose_until(0));
    EXPECT_FALSE(choose_until(2));
    EXPECT_THAT(tried, ElementsAre(1, 0.5)) << "the one before comes first";
    tried.clear();
    EXPECT_TRUE(choose_until(99));
    EXPECT_THAT(tried, ElementsAre(1, 0.5, 1.25, 1.5, 2));
}

// 13a's BLEU of such lines is 0 with every penalty, so the first one would be kept.
TEST_F(LengthPenalty, IsChosenByChrfWhereBleuDoesNotApply) {
    Corpus text;
    for (std::string line : translated(1)) {
        std::erase(line, ' ');
        std::string thai;
        for (std::size_t i = 0; i < line.size(); ++i) thai += "\u0e41";
        text.pairs.push_back({"", line + thai});
    }
    const Criterion criterion = criterion_of(text);
    EXPECT_EQ(criterion.metric, Metric::chrf);
    EXPECT_EQ(criterion.tokenizer, Tokenizer::character);
    const PenaltyChoice choice = choose(text.targets(), criterion, 0), by_words = choose(text.targets(), by_bleu, 0);
    EXPECT_GT(choice.best.score, choice.before.score);
    EXPECT_EQ(choice.best.length_penalty, 1);
    EXPECT_EQ(by_words.best.length_penalty, 0);
    for (const PenaltyTrial& trial : by_words.trials) EXPECT_EQ(trial.score, 0);

    for (SentencePair& pair : text.pairs) pair.target = "one word";
    EXPECT_EQ(criterion_of(text).metric, Metric::chrf) << "too short for BLEU";
    for (SentencePair& pair : text.pairs) pair.target = "\u6211\u4eec\u4eca\u5929\u53bb\u4e0a\u5b66\u3002";
    EXPECT_EQ(criterion_of(text).metric, Metric::bleu);
    EXPECT_EQ(criterion_of(text).tokenizer, Tokenizer::zh);
    EXPECT_EQ(criterion_of(text, Tokenizer::mteval_13a).metric, Metric::chrf) << "each line is one word of 13a";
}

TEST(TuningSample, IsSpreadOverTheWholeText) {
    Corpus text;
    for (int i = 0; i < 10; ++i) text.pairs.push_back({std::to_string(i), ""});
    EXPECT_THAT(tuning_sample(text, 4).sources(), ElementsAre("0", "2", "5", "7"));
    EXPECT_EQ(tuning_sample(text, 99).sources(), text.sources());
    EXPECT_EQ(tuning_sample(text, 0).size(), 0);
    EXPECT_EQ(tuning_sample({}, 5).size(), 0);
}

}  // namespace
}  // namespace heddle::app
