// The log-probability of given translations, against the search's and against one computed from nothing.
#include "nn/search/scoring.h"

#include <gtest/gtest.h>

#include "core/device.h"
#include "nn/search/search.h"
#include "tests/nn/decoding_support.h"

namespace heddle::nn {
namespace {

// Sources with their end marks, and targets.
struct Pairs {
    std::vector<Tokens> sources, targets;
};

// The sum over the target's tokens and the end mark.
double by_hand(const Ensemble& models, const Tokens& source, const Tokens& target, bool end = true) {
    Tokens prefix;
    double sum = 0;
    for (const std::int32_t token : target) {
        sum += next_log_probabilities(models, source, prefix)[static_cast<std::size_t>(token)];
        prefix.push_back(token);
    }
    return sum + (end ? next_log_probabilities(models, source, prefix)[end_mark] : 0);
}

// 200 pairs of up to 12 tokens a side, the empty ones among them.
Pairs many_pairs(std::int64_t vocabulary) {
    Sequence random(7);
    Pairs pairs;
    for (std::uint64_t i = 0; i < 200; ++i) {
        pairs.sources.push_back(random_tokens(static_cast<std::int64_t>(random.below(13)), vocabulary, 2 * i));
        pairs.targets.push_back(random_tokens(static_cast<std::int64_t>(random.below(13)), vocabulary, 2 * i + 1));
    }
    pairs.sources[3].clear();
    pairs.targets[4].clear();
    pairs.sources[5].clear();
    pairs.targets[5].clear();
    for (Tokens& source : pairs.sources) source.push_back(end_mark);
    return pairs;
}

TEST(Scoring, SumsTheTokensAndTheEndMark) {
    const Model one = random_model(11, 1), two = random_model(11, 2, 0.8);
    const auto [sources, targets] = many_pairs(11);
    for (const Ensemble& models : {Ensemble(*one), Ensemble({one.get(), two.get()})}) {
        const std::vector<PairScore> scores = score(models, sources, targets);
        ASSERT_EQ(scores.size(), sources.size());
        for (std::size_t i = 0; i < sources.size(); ++i) {
            EXPECT_NEAR(scores[i].log_probability, by_hand(models, sources[i], targets[i]), 1e-5) << "pair " << i;
            EXPECT_EQ(scores[i].tokens, static_cast<std::int64_t>(targets[i].size()) + 1);
            EXPECT_TRUE(scores[i].complete);
        }
    }
}

TEST(Scoring, ListsTheLikeliestTokensOfEachStepInOrder) {
    const Model model = random_model(11, 1);
    const Tokens source{4, 7, end_mark}, written{5, 9, end_mark};
    const std::vector<StepProbabilities> steps = step_probabilities(*model, source, {begin_mark, 5, 9}, written, 4);
    ASSERT_EQ(steps.size(), 3u);
    for (std::size_t step = 0; step < steps.size(); ++step) {
        const std::vector<double> all =
            next_log_probabilities(*model, source, {written.begin(), written.begin() + static_cast<std::ptrdiff_t>(step)});
        std::vector<std::int32_t> order(all.size());
        std::iota(order.begin(), order.end(), 0);
        std::ranges::stable_sort(order, [&](std::int32_t a, std::int32_t b) {
            return all[static_cast<std::size_t>(a)] > all[static_cast<std::size_t>(b)];
        });
        ASSERT_EQ(steps[step].likeliest.size(), 4u);
        EXPECT_NEAR(steps[step].written, std::exp(all[static_cast<std::size_t>(written[step])]), 1e-6);
        for (std::size_t i = 0; i < 4; ++i) {
            EXPECT_EQ(steps[step].likeliest[i].first, order[i]) << "step " << step << ", place " << i;
            EXPECT_NEAR(steps[step].likeliest[i].second, std::exp(all[static_cast<std::size_t>(order[i])]), 1e-6);
        }
    }
}

TEST(Scoring, OnTheDeviceOneNumberOfEachTokenComesBack) {
    if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    const Model model = random_model(11, 1);
    auto [sources, targets] = many_pairs(11);
    sources.resize(40);
    targets.resize(40);
    const std::vector<PairScore> cpu = score(*model, sources, targets);
    model->to(Device::cuda);
    const std::int64_t before = device::statistics().synchronisations;
    const std::vector<PairScore> cuda = score(*model, sources, targets);
    EXPECT_EQ(device::statistics().synchronisations - before, 1) << "they are one batch";
    for (std::size_t i = 0; i < sources.size(); ++i)
        EXPECT_NEAR(cuda[i].log_probability, cpu[i].log_probability, 1e-4) << "pair " << i;
}

TEST(Scoring, APairScoresTheSameAloneAndAmongOthersOnAnyThreads) {
    const Model model = random_model(11, 1);
    const auto [sources, targets] = many_pairs(11);
    std::vector<double> alone;
    for (std::size_t i = 0; i < sources.size(); ++i) alone.push_back(score(*model, sources[i], targets[i]).log_probability);
    for (const int count : {1, 3}) {
        const WithThreads on(count);
        const std::vector<PairScore> together = score(*model, sources, targets);
        for (std::size_t i = 0; i < sources.size(); ++i) EXPECT_EQ(together[i].log_probability, alone[i]) << "pair " << i;
    }
}

// As in a search, a target that is cut where learned positions end has no end mark.
TEST(Scoring, ScoresALongTargetAsFarAsLearnedPositionsReach) {
    const Model model = random_model(9, 3, 0.5, 6);
    const std::vector<Tokens> sources(3, Tokens{4, 5, end_mark}),
        targets{{4, 5, 6, 7, 8}, {4, 5, 6, 7, 8, 4}, {4, 5, 6, 7, 8, 4, 5, 5}};
    const std::vector<PairScore> scores = score(*model, sources, targets);
    EXPECT_TRUE(scores[0].complete);
    EXPECT_FALSE(scores[1].complete);
    EXPECT_FALSE(scores[2].complete);
    EXPECT_NEAR(scores[0].log_probability, by_hand(*model, sources[0], targets[0]), 1e-5);
    EXPECT_NEAR(scores[1].log_probability, by_hand(*model, sources[1], targets[1], false), 1e-5);
    EXPECT_EQ(scores[2].log_probability, scores[1].log_probability);
    EXPECT_EQ(scores[2].tokens, 6);
}

TEST(Scoring, BatchesTakeTheMarksWithThem) {
    const Model model = random_model(11, 1);
    const auto [sources, targets] = many_pairs(11);
    const Marks marks{.begin = 7, .end = 8};
    const ScoreBatches elsewhere = [&](std::span<const ScoreBatch> batches) {
        std::vector<std::vector<double>> tokens;
        for (const ScoreBatch& batch : batches) tokens.push_back(token_log_probabilities(*model, batch));
        return tokens;
    };
    const std::vector<PairScore> here = score(*model, sources, targets, marks),
                                 there = score(*model, sources, targets, marks, elsewhere),
                                 other = score(*model, sources, targets, {.begin = 4, .end = 8});
    for (std::size_t i = 0; i < sources.size(); ++i) {
        EXPECT_EQ(there[i].log_probability, here[i].log_probability) << "pair " << i;
        EXPECT_NE(other[i].log_probability, here[i].log_probability) << "pair " << i;
    }
}

TEST(Scoring, APairHasTheSameAttentionMapsAloneAndAmongOthers) {
    const Model model = random_model(11, 1);
    const std::vector<Tokens> sources{source_of(4, 11, 1), source_of(7, 11, 2)}, read{{begin_mark, 5}, {begin_mark, 6, 7, 4, 5}};
    const std::vector<AttentionMaps> together = attention_maps(*model, sources, read);
    ASSERT_EQ(together.size(), 2u);
    for (std::size_t i = 0; i < 2; ++i) {
        const AttentionMaps alone =
            attention_maps(*model, std::span(sources).subspan(i, 1), std::span(read).subspan(i, 1)).front();
        const auto queries = static_cast<std::int64_t>(read[i].size()), keys = static_cast<std::int64_t>(sources[i].size());
        EXPECT_EQ(together[i].cross[0].shape(), Shape({1, 2, queries, keys}));
        EXPECT_TRUE(same_bits(together[i].encoder[0], alone.encoder[0])) << i;
        EXPECT_TRUE(same_bits(together[i].decoder[0], alone.decoder[0])) << i;
        EXPECT_TRUE(same_bits(together[i].cross[0], alone.cross[0])) << i;
    }
}

TEST(Scoring, SaysWhatIsWrongWithItsInput) {
    const Model model = random_model(9, 3);
    const std::vector<Tokens> sources{{4, end_mark}, {}}, targets{{5}, {6}};
    expect_error([&] { score(*model, sources, targets); }, "source 1 has no tokens");
    expect_error([&] { score(*model, sources, std::span(targets).first(1)); }, "2 sources, but 1 targets");
    model->train();
    expect_error([&] { score(*model, sources[0], targets[0]); }, "the model is in training mode");
}

}  // namespace
}  // namespace heddle::nn
