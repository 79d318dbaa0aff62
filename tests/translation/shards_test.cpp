// Shards: the division of batches, and the tree in which gradients are summed.
#include "apps/translation/distributed/shards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "apps/translation/training/learner.h"
#include "core/random.h"
#include "kernels/elementwise/elementwise.h"
#include "tests/support.h"
#include "tests/translation/training_support.h"

namespace heddle::app {
namespace {

using testing::ElementsAre;

TEST(Shards, FormATreeWhoseLeftSubtreesAreComplete) {
    EXPECT_EQ(middle_of({0, 2}), 1);
    EXPECT_EQ(middle_of({0, 3}), 2);
    EXPECT_EQ(middle_of({0, 8}), 4);
    EXPECT_EQ(middle_of({8, 12}), 10);
    EXPECT_EQ(middle_of({0, 12}), 8);
    expect_error([] { middle_of({3, 4}); }, "a tree over 1 has no subtrees");
    EXPECT_THAT(subtrees_within({1, 3}, 4), ElementsAre(ShardRange{1, 2}, ShardRange{2, 3}));
    EXPECT_THAT(subtrees_within({4, 8}, 12), ElementsAre(ShardRange{4, 8}));
    EXPECT_THAT(subtrees_within({3, 12}, 12), ElementsAre(ShardRange{3, 4}, ShardRange{4, 8}, ShardRange{8, 12}));
    EXPECT_THAT(subtrees_within({0, 7}, 7), ElementsAre(ShardRange{0, 7}));
}

// Pairs of many different lengths.
std::vector<TokenPair> pairs_of(std::int64_t count) {
    Sequence numbers(11);
    std::vector<TokenPair> pairs;
    for (std::int64_t i = 0; i < count; ++i) {
        std::vector<std::int32_t> source(1 + numbers.below(20)), target(1 + numbers.below(20));
        for (auto* side : {&source, &target})
            for (std::int32_t& id : *side) id = static_cast<std::int32_t>(4 + numbers.below(90));
        pairs.push_back({source, target, 0});
    }
    return pairs;
}

std::vector<std::int64_t> first(std::int64_t count) {
    std::vector<std::int64_t> all(static_cast<std::size_t>(count));
    std::iota(all.begin(), all.end(), 0);
    return all;
}

TEST(Shards, HoldAllSentencesOnceInTheirOrder) {
    EXPECT_THAT(cut(std::vector<std::int64_t>{5, 5, 5, 5}, 2), ElementsAre(0, 2, 4));
    EXPECT_THAT(cut(std::vector<std::int64_t>{30, 2, 2, 2}, 2), ElementsAre(0, 1, 4));
    EXPECT_THAT(cut(std::vector<std::int64_t>{9}, 3), ElementsAre(0, 0, 1, 1));
    EXPECT_THAT(cut(std::vector<std::int64_t>{}, 2), ElementsAre(0, 0, 0));
    Sequence numbers(12);
    for (const std::size_t sentences : {1, 2, 3, 7, 40}) {
        std::vector<std::int64_t> tokens(sentences);
        for (std::int64_t& count : tokens) count = static_cast<std::int64_t>(4 + numbers.below(39));
        const std::int64_t all = std::accumulate(tokens.begin(), tokens.end(), std::int64_t{0});
        for (const std::int64_t shards : {1, 2, 3, 4, 12, 64}) {
            const std::vector<std::int64_t> begins = cut(tokens, shards);
            ASSERT_EQ(static_cast<std::int64_t>(begins.size()), shards + 1);
            EXPECT_EQ(begins.front(), 0);
            EXPECT_EQ(begins.back(), static_cast<std::int64_t>(sentences));
            EXPECT_TRUE(std::is_sorted(begins.begin(), begins.end()));
            // A boundary is the sentence boundary nearest to the ideal one, so it is off by half a sentence at most.
            for (std::int64_t shard = 1; shard < shards; ++shard) {
                const auto end = tokens.begin() + begins[static_cast<std::size_t>(shard)];
                const std::int64_t before = std::accumulate(tokens.begin(), end, std::int64_t{0});
                EXPECT_LE(std::abs(shards * before - shard * all), shards * 42 / 2) << sentences << " in " << shards;
            }
        }
    }
}

TEST(Shards, ArePartsOfBatchesLikeBatchesOfTheirSentences) {
    const std::vector<TokenPair> pairs = pairs_of(9);
    const PairBatch whole = make_batch(pairs, first(9));
    const std::pair<std::int64_t, std::int64_t> ranges[] = {{0, 9}, {0, 0}, {9, 9}, {2, 5}, {8, 9}};
    for (const auto& [begin, end] : ranges) {
        std::vector<std::int64_t> indices;
        for (std::int64_t i = begin; i < end; ++i) indices.push_back(i);
        const PairBatch part = part_of(whole, begin, end), same = make_batch(pairs, indices);
        EXPECT_EQ(part.source, same.source);
        EXPECT_EQ(part.target_in, same.target_in);
        EXPECT_EQ(part.target_out, same.target_out);
        EXPECT_EQ(part.source_spans, same.source_spans);
        EXPECT_EQ(part.target_spans, same.target_spans);
        EXPECT_EQ(part.indices, same.indices);
        EXPECT_EQ(part.sentences, same.sentences);
        EXPECT_EQ(part.source_tokens, same.source_tokens);
        EXPECT_EQ(part.target_tokens, same.target_tokens);
    }
    expect_error([&] { part_of(whole, 3, 10); }, "sentences [3, 10) of 9");
}

Tensor random_gradient(std::int64_t shard) { return Tensor::randn({257}, static_cast<std::uint64_t>(shard)); }

// The sum over a tree, by the definition of the tree.
Tensor sum_of_tree(ShardRange tree) {
    if (tree.size() == 1) return random_gradient(tree.first);
    Tensor left = sum_of_tree({tree.first, middle_of(tree)});
    kernels::accumulate(left, sum_of_tree({middle_of(tree), tree.last}));
    return left;
}

TEST(Shards, AreSummedAlongTheTree) {
    for (std::int64_t shards = 1; shards <= 21; ++shards) {
        Tensor gradients = Tensor::zeros({257}), rest = Tensor::zeros({257});
        ShardSum sum(gradients, shards), before(rest, shards);
        for (std::int64_t shard = 0; shard < shards; ++shard) {
            gradients.copy_(random_gradient(shard));
            sum.add();
            rest.copy_(random_gradient(shard));
            if (shard + 1 < shards) before.add();
        }
        for (const Tensor& left : before.before_last()) kernels::accumulate(rest, left);
        const std::vector<double> wanted = sum_of_tree({0, shards}).to_vector();
        EXPECT_EQ(gradients.to_vector(), wanted) << shards;
        EXPECT_EQ(rest.to_vector(), wanted) << shards;
    }
    Tensor gradients = Tensor::zeros({257});
    ShardSum sum(gradients, 3);
    expect_error([&] { sum.before_last(); }, "0 of 3 were added before the last one");
}

struct Trained {
    std::vector<float> weights;
    UpdateReport last;
};

// A few updates of two batches each.
Trained trained(std::int64_t shards, double dropout, int updates = 4) {
    static const TrainingData data = copy_data(60);
    TrainingOptions options = tiny_training();
    options.shards = shards;
    nn::Transformer model(tiny_model(data, dropout));
    Learner learner(model, options, 0);
    Trained result;
    for (int i = 0; i < updates; ++i) {
        std::vector<std::int64_t> one = first(20), other = first(20);
        for (std::int64_t& index : other) index += 20 + i;
        const PairBatch batches[] = {make_batch(data.training, one), make_batch(data.training, other)};
        result.last = learner.update(batches);
    }
    const auto values = learner.parameters().values.values<float>();
    result.weights.assign(values.begin(), values.end());
    return result;
}

TEST(Shards, GiveTheGradientOfTheWholeUpdateExceptForRounding) {
    const Trained whole = trained(1, 0, 1);
    for (const std::int64_t shards : {2, 3, 8, 50}) {
        const Trained cut = trained(shards, 0, 1);
        EXPECT_EQ(cut.last.targets, whole.last.targets);
        EXPECT_EQ(cut.last.tokens, whole.last.tokens);
        EXPECT_EQ(cut.last.sentences, 40);
        EXPECT_EQ(cut.last.correct, whole.last.correct);
        EXPECT_NEAR(cut.last.loss, whole.last.loss, 1e-5 * whole.last.loss);
        EXPECT_NEAR(cut.last.gradient_norm, whole.last.gradient_norm, 1e-5 * whole.last.gradient_norm) << shards;
    }
}

TEST(Shards, AreComputedWithTheSameBitsAgain) {
    const Trained two = trained(2, 0.3), four = trained(4, 0.3);
    EXPECT_EQ(trained(4, 0.3).weights, four.weights);
    EXPECT_NE(two.weights, four.weights);
    EXPECT_NE(shard_key(0, 1), shard_key(1, 0));
    EXPECT_EQ(shard_key(0, 7), 7u) << "a single shard has the keys that an update had before there were shards";
}

// The same sentences twice: as one update of two shards, and alone. If both shards had the same mask, their loss would be
// exactly twice that of the first one, which is computed with the keys of an update without shards.
TEST(Shards, HaveMasksOfTheirOwn) {
    const TrainingData data = copy_data(60);
    const auto first_loss = [&](double dropout, std::int64_t shards) {
        std::vector<std::int64_t> indices = first(10);
        if (shards == 2) indices.insert(indices.end(), indices.begin(), indices.end());
        TrainingOptions options = tiny_training();
        options.shards = shards;
        nn::Transformer model(tiny_model(data, dropout));
        const PairBatch batches[] = {make_batch(data.training, indices)};
        return Learner(model, options, 0).update(batches).loss;
    };
    EXPECT_EQ(first_loss(0, 2), 2 * first_loss(0, 1));
    EXPECT_GT(std::abs(first_loss(0.3, 2) - 2 * first_loss(0.3, 1)), 1e-3);
}

}  // namespace
}  // namespace heddle::app
