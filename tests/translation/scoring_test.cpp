// The log-probability of given translations, against the search's and against one computed from nothing.
#include "apps/translation/decoding/scoring.h"

#include <gtest/gtest.h>

#include "apps/translation/decoding/beam_search.h"
#include "apps/translation/decoding/sampling.h"
#include "core/device.h"
#include "tests/translation/decoding_support.h"

namespace heddle::app {
namespace {

// The sum over the target's tokens and the end mark.
double by_hand(const Ensemble& models, const TokenPair& pair, bool end = true) {
    Tokens source = pair.source, prefix;
    source.push_back(eos_id);
    double sum = 0;
    for (const std::int32_t token : pair.target) {
        sum += next_log_probabilities(models, source, prefix)[static_cast<std::size_t>(token)];
        prefix.push_back(token);
    }
    return sum + (end ? next_log_probabilities(models, source, prefix)[eos_id] : 0);
}

// 200 pairs of up to 12 tokens a side, the empty ones among them.
std::vector<TokenPair> many_pairs(std::int64_t vocabulary) {
    Sequence random(7);
    std::vector<TokenPair> pairs;
    for (std::uint64_t i = 0; i < 200; ++i)
        pairs.push_back({nn::random_tokens(static_cast<std::int64_t>(random.below(13)), vocabulary, 2 * i),
                         nn::random_tokens(static_cast<std::int64_t>(random.below(13)), vocabulary, 2 * i + 1)});
    pairs[3].source.clear();
    pairs[4].target.clear();
    pairs[5] = {};
    return pairs;
}

TEST(Scoring, SumsTheTokensAndTheEndMark) {
    const Model one = random_model(11, 1), two = random_model(11, 2, 0.8);
    const std::vector<TokenPair> pairs = many_pairs(11);
    for (const Ensemble& models : {Ensemble(*one), Ensemble({one.get(), two.get()})}) {
        const std::vector<PairScore> scores = score_pairs(models, pairs);
        ASSERT_EQ(scores.size(), pairs.size());
        for (std::size_t i = 0; i < pairs.size(); ++i) {
            EXPECT_NEAR(scores[i].log_probability, by_hand(models, pairs[i]), 1e-5) << "pair " << i;
            EXPECT_EQ(scores[i].tokens, static_cast<std::int64_t>(pairs[i].target.size()) + 1);
            EXPECT_TRUE(scores[i].complete);
        }
    }
}

TEST(Scoring, OnTheDeviceOneNumberOfEachTokenComesBack) {
    if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    const Model model = random_model(11, 1);
    std::vector<TokenPair> pairs = many_pairs(11);
    pairs.resize(40);
    const std::vector<PairScore> cpu = score_pairs(*model, pairs);
    model->to(Device::cuda);
    const std::int64_t before = device::statistics().synchronisations;
    const std::vector<PairScore> cuda = score_pairs(*model, pairs);
    EXPECT_EQ(device::statistics().synchronisations - before, 1) << "they are one batch";
    for (std::size_t i = 0; i < pairs.size(); ++i)
        EXPECT_NEAR(cuda[i].log_probability, cpu[i].log_probability, 1e-4) << "pair " << i;
}

TEST(Scoring, APairScoresTheSameAloneAndAmongOthersOnAnyThreads) {
    const Model model = random_model(11, 1);
    const std::vector<TokenPair> pairs = many_pairs(11);
    std::vector<double> alone;
    for (const TokenPair& pair : pairs)
        alone.push_back(score_pairs(*model, std::vector<TokenPair>{pair}).front().log_probability);
    for (const int count : {1, 3}) {
        const WithThreads on(count);
        const std::vector<PairScore> together = score_pairs(*model, pairs);
        for (std::size_t i = 0; i < pairs.size(); ++i) EXPECT_EQ(together[i].log_probability, alone[i]) << "pair " << i;
    }
}

TEST(Scoring, AgreesWithWhatTheSearchAndTheDrawReport) {
    const Model one = random_model(30, 5, 0.8), two = random_model(30, 6, 0.8);
    for (const Model* model : {&one, &two})
        nn::named_tensor(**model, "output.bias").mutable_data<float>()[eos_id] += 6;  // ends often
    std::vector<Tokens> sources;
    std::vector<std::int64_t> lines;
    for (std::uint64_t i = 0; i < 40; ++i) {
        sources.push_back(source_of(1 + static_cast<std::int64_t>(i % 9), 30, i));
        lines.push_back(static_cast<std::int64_t>(i));
    }
    for (const Ensemble& models : {Ensemble(*one), Ensemble({one.get(), two.get()})})
        for (const bool draw : {false, true}) {
            DecodeOptions options{.beam = 4, .n_best = 3, .prefix = {7, 9}};
            if (draw) options.sampling = Sampling{.top_k = 12, .temperature = 0.7};
            const HypothesisLists found = draw ? sample(models, sources, lines, options) : beam_search(models, sources, options);
            int ended = 0;
            for (std::size_t i = 0; i < sources.size(); ++i)
                for (const Hypothesis& each : found[i]) {
                    if (!each.ended) continue;
                    ++ended;
                    const std::vector<TokenPair> pair{{{sources[i].begin(), sources[i].end() - 1}, each.tokens}};
                    EXPECT_NEAR(score_pairs(models, pair)[0].log_probability, each.log_probability, 1e-5) << "source " << i;
                }
            EXPECT_GT(ended, 30);
        }
}

// As the search has it: what is cut where learned positions end has no end mark.
TEST(Scoring, ScoresALongTargetAsFarAsLearnedPositionsReach) {
    const Model model = random_model(9, 3, 0.5, 6);
    const std::vector<TokenPair> pairs{
        {{4, 5}, {4, 5, 6, 7, 8}}, {{4, 5}, {4, 5, 6, 7, 8, 4}}, {{4, 5}, {4, 5, 6, 7, 8, 4, 5, 5}}};
    const std::vector<PairScore> scores = score_pairs(*model, pairs);
    EXPECT_TRUE(scores[0].complete);
    EXPECT_FALSE(scores[1].complete);
    EXPECT_FALSE(scores[2].complete);
    EXPECT_NEAR(scores[0].log_probability, by_hand(*model, pairs[0]), 1e-5);
    EXPECT_NEAR(scores[1].log_probability, by_hand(*model, pairs[1], false), 1e-5);
    EXPECT_EQ(scores[2].log_probability, scores[1].log_probability);
    EXPECT_EQ(scores[2].tokens, 6);
}

TEST(Scoring, CutsSourcesAsTheTranslatorDoes) {
    Vocabularies vocabularies;
    vocabularies.source = vocabularies.target =
        train_vocabulary({.type = VocabularyType::word, .size = 0}, std::vector<std::string>{"a b c d"});
    const Model model = random_model(vocabularies.source->size(), 3, 0.5, 6);
    const std::vector<std::string> sources{"a b c d a", "a b c d a b b", " "}, targets{"b", "b", " "};
    const LineScores scores = score_lines(*model, vocabularies, sources, targets);
    EXPECT_EQ(scores.cut_sources, 1);
    EXPECT_EQ(scores.scores[0].log_probability, scores.scores[1].log_probability);
    EXPECT_EQ(scores.scores[2].tokens, 1);
}

}  // namespace
}  // namespace heddle::app
