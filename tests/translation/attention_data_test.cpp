// Data of the attention page: weights in thousandths, tokens, and the likeliest tokens of each step.
#include "apps/translation/report/attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "apps/picture/page.h"
#include "tests/nn/decoding_support.h"

namespace heddle::app {
namespace {

using nlohmann::ordered_json;
using testing::ElementsAre;

TEST(Thousandths, SumToTheWhole) {
    EXPECT_THAT(thousandths(std::vector<double>{1.0 / 3, 1.0 / 3, 1.0 / 3}), ElementsAre(334, 333, 333));
    EXPECT_THAT(thousandths(std::vector<double>{0.0004, 0.9996, 0}), ElementsAre(0, 1000, 0));
    EXPECT_THAT(thousandths(std::vector<double>{0.0006, 0.9994}), ElementsAre(1, 999));
    EXPECT_THAT(thousandths(std::vector<double>{1}), ElementsAre(1000));
    EXPECT_THAT(thousandths(std::vector<double>{0, 0}), ElementsAre(0, 0)) << "a fully masked row";
    EXPECT_THAT(thousandths(std::vector<double>{}), ElementsAre());
    EXPECT_THAT(thousandths(std::vector<double>{0.5, std::numeric_limits<double>::quiet_NaN()}), ElementsAre(-1, -1));
    std::vector<double> shares;
    for (int i = 0; i < 700; ++i) shares.push_back(1.0 / 700);
    const std::vector<int> parts = thousandths(shares);
    EXPECT_EQ(std::accumulate(parts.begin(), parts.end(), 0), 1000);
}

class AttentionData : public testing::Test {
  protected:
    AttentionData() {
        vocabularies_.source = vocabularies_.target =
            train_vocabulary({.type = VocabularyType::word}, std::vector<std::string>{"one two three four, five <six> & seven"});
        model_ = nn::random_model(vocabularies_.source->size(), 3, 0.5, 32);
    }
    Vocabularies vocabularies_;
    nn::Model model_;
};

TEST_F(AttentionData, StepsAreTheModelsOwnProbabilitiesOfTheTranslationItFound) {
    Translator translator(*model_, vocabularies_, {.beam = 3, .n_best = 3});
    const std::string line = "one two three";
    const std::vector<Translation> all = translator.translate({line}).front();
    ASSERT_EQ(all.size(), 3u);
    for (const Translation& found : all) {
        const TranslationAttention attention = attention_of(*model_, vocabularies_, line, found);
        const std::vector<DecodingStep> steps = decoding_steps(*model_, *vocabularies_.target, attention, 5);
        ASSERT_EQ(steps.size(), attention.written.size());
        double log_probability = 0;
        nn::Tokens prefix;
        for (std::size_t i = 0; i < steps.size(); ++i) {
            log_probability += std::log(steps[i].probability);
            const std::vector<double> wanted = nn::next_log_probabilities(*model_, attention.source_ids, prefix);
            prefix.push_back(attention.written_ids[i]);
            ASSERT_EQ(steps[i].likeliest.size(), 5u);
            std::vector<double> sorted = wanted;
            std::ranges::sort(sorted, std::greater<>());
            for (std::size_t k = 0; k < 5; ++k) {
                const NextToken& next = steps[i].likeliest[k];
                EXPECT_NEAR(std::log(next.probability), sorted[k], 1e-5) << "step " << i << ", place " << k;
                std::int32_t id = 0;
                while (vocabularies_.target->token(id) != next.token) ++id;
                EXPECT_NEAR(std::log(next.probability), wanted[static_cast<std::size_t>(id)], 1e-5) << next.token;
            }
        }
        EXPECT_NEAR(log_probability, found.log_probability, 1e-4);
    }
}

TEST_F(AttentionData, OfASmallVocabularyAllTokensAreTheLikeliestAndSumToOne) {
    const Translation found{.text = "four", .tokens = vocabularies_.target->encode("four"), .ended = true};
    const TranslationAttention attention = attention_of(*model_, vocabularies_, "one", found);
    for (const DecodingStep& step : decoding_steps(*model_, *vocabularies_.target, attention, 1000)) {
        ASSERT_EQ(step.likeliest.size(), static_cast<std::size_t>(vocabularies_.target->size()));
        double sum = 0;
        for (const NextToken& next : step.likeliest) sum += next.probability;
        EXPECT_NEAR(sum, 1, 1e-9);
    }
}

TEST_F(AttentionData, IsReadBackAsTheMapsAndTokensThatItCameFrom) {
    const std::string line = "one <six> & two </script>";
    const Translation found{.text = "four <six>", .tokens = vocabularies_.target->encode("four <six>"), .ended = true};
    const TranslationAttention attention = attention_of(*model_, vocabularies_, line, found);
    const auto steps = decoding_steps(*model_, *vocabularies_.target, attention, 5);
    ordered_json lines = ordered_json::array();
    lines.push_back(attention_line(line, found.text, attention, steps));
    const ordered_json data = ordered_json::parse(picture::script_json(attention_data(lines).dump()));
    EXPECT_EQ(data["ramp"].size(), 65u);
    const ordered_json& one = data["lines"].at(0);
    EXPECT_EQ(one["line"], line);
    EXPECT_EQ(one["translation"], "four <six>");
    EXPECT_EQ(one["source"].get<std::vector<std::string>>(), labels_of(attention.source));
    EXPECT_EQ(one["read"].get<std::vector<std::string>>(), labels_of(attention.read));
    EXPECT_EQ(one["written"].get<std::vector<std::string>>(), labels_of(attention.written));

    const auto expect_maps = [&](const char* kind, const std::vector<Tensor>& maps, std::size_t rows, std::size_t cols) {
        ASSERT_EQ(one["maps"][kind].size(), maps.size()) << kind;
        for (std::size_t layer = 0; layer < maps.size(); ++layer) {
            const std::vector<double> weights = maps[layer].to_vector();
            ASSERT_EQ(one["maps"][kind][layer].size(), static_cast<std::size_t>(maps[layer].shape()[1]));
            std::size_t at = 0;
            for (const ordered_json& head : one["maps"][kind][layer]) {
                ASSERT_EQ(head.size(), rows * cols) << kind;
                for (std::size_t row = 0; row < rows; ++row) {
                    int sum = 0;
                    for (std::size_t col = 0; col < cols; ++col, ++at) {
                        const int part = head[row * cols + col].get<int>();
                        sum += part;
                        EXPECT_NEAR(part / 1000.0, weights[at], 1e-3) << kind;
                    }
                    EXPECT_EQ(sum, 1000) << kind << ", row " << row;
                }
            }
        }
    };
    expect_maps("encoder", attention.maps.encoder, attention.source.size(), attention.source.size());
    expect_maps("decoder", attention.maps.decoder, attention.written.size(), attention.read.size());
    expect_maps("cross", attention.maps.cross, attention.written.size(), attention.source.size());

    ASSERT_EQ(one["steps"].size(), attention.written.size());
    for (std::size_t i = 0; i < steps.size(); ++i) {
        EXPECT_NEAR(one["steps"][i]["probability"].get<double>(), steps[i].probability, 1e-4);
        ASSERT_EQ(one["steps"][i]["likeliest"].size(), 5u);
        double before = 1;
        for (const ordered_json& next : one["steps"][i]["likeliest"]) {
            EXPECT_LE(next[1].get<double>(), before) << "the most probable first";
            before = next[1].get<double>();
        }
    }
}

TEST(AttentionDataOfBrokenMaps, HasNoNumberWhereThereIsNone) {
    TranslationAttention attention;
    attention.source = attention.written = attention.read = {"a", " "};
    attention.maps.cross = {Tensor::from(std::vector<float>{NAN, NAN, 0.25f, 0.75f}, {1, 1, 2, 2})};
    const ordered_json one = attention_line("", "", attention, {});
    EXPECT_EQ(one["maps"]["cross"].dump(), "[[[null,null,250,750]]]");
    EXPECT_EQ(one["maps"]["decoder"].dump(), "[]");
    EXPECT_EQ(one["source"].dump(), R"(["a","␣"])");
}

}  // namespace
}  // namespace heddle::app
