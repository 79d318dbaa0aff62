// Which length penalty is chosen, and when the one there is stays.
#include "apps/translation/search/length_penalty.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/translation/search/translate.h"
#include "tests/translation/decoding_support.h"

namespace heddle::app {
namespace {

using testing::ElementsAre;
using testing::Field;

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
        model_ = random_model(vocabularies_.source->size(), 2);
    }

    std::vector<std::string> translated(double length_penalty) const {
        return translate_lines(*model_, vocabularies_, lines_, {.length_penalty = length_penalty});
    }
    PenaltyChoice choose(const std::vector<std::string>& references, Aim aim, double before = 1) const {
        Corpus text;
        for (std::size_t i = 0; i < lines_.size(); ++i) text.pairs.push_back({lines_[i], references[i]});
        return *choose_length_penalty(*model_, vocabularies_, text, {.length_penalty = before}, aim);
    }

    std::vector<std::string> lines_;
    Vocabularies vocabularies_;
    Model model_;
};

TEST_F(LengthPenalty, IsTheOneWhoseTranslationsAreTheReferences) {
    const std::vector<std::string> wanted = translated(1);
    ASSERT_TRUE(wanted != translated(0.5)) << "penalties must differ, or the test shows nothing";
    for (const Aim aim : {Aim::bleu, Aim::exact}) {
        const PenaltyChoice choice = choose(wanted, aim, 0);
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
    const PenaltyChoice choice = choose(std::vector<std::string>(lines_.size(), "nothing like it"), Aim::exact);
    EXPECT_EQ(choice.best.length_penalty, 1) << "all are equally bad";
    std::vector<double> tried;
    for (const PenaltyTrial& trial : choice.trials) tried.push_back(trial.length_penalty);
    EXPECT_GT(tried.size(), 3u);
    EXPECT_TRUE(std::is_sorted(tried.begin(), tried.end()));
}

TEST_F(LengthPenalty, IsNotTriedWhereNothingCanBeBetter) {
    const PenaltyChoice choice = choose(translated(1), Aim::exact);
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
        return choose_length_penalty(*model_, vocabularies_, text, {}, Aim::exact, watch).has_value();
    };
    EXPECT_FALSE(choose_until(0));
    EXPECT_FALSE(choose_until(2));
    EXPECT_THAT(tried, ElementsAre(1, 0.5)) << "the one before comes first";
    tried.clear();
    EXPECT_TRUE(choose_until(99));
    EXPECT_THAT(tried, ElementsAre(1, 0.5, 1.25, 1.5, 2));
}

TEST_F(LengthPenalty, IsTheSameOnAnyThreads) {
    const std::vector<std::string> wanted = translated(0.5);
    std::vector<double> scores;
    for (const int count : {1, 3}) {
        const WithThreads on(count);
        for (const PenaltyTrial& trial : choose(wanted, Aim::bleu).trials) scores.push_back(trial.score);
    }
    const auto half = scores.begin() + static_cast<std::ptrdiff_t>(scores.size() / 2);
    EXPECT_EQ(std::vector(scores.begin(), half), std::vector(half, scores.end()));
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
