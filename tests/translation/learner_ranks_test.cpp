// Ranks that train together, here threads, give the results of one process, bit for bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "apps/translation/distributed/distributed_batches.h"
#include "apps/translation/distributed/message.h"
#include "apps/translation/training/learner.h"
#include "kernels/gradient_norm/gradient_norm.h"
#include "tests/support.h"
#include "tests/translation/thread_ranks.h"
#include "tests/translation/training_support.h"

namespace heddle::app {
namespace {

using testing::ElementsAre;

TEST(RankExchange, CutsParametersAtTheBlocksOfTheNorm) {
    constexpr std::int64_t block = kernels::kNormBlock;
    const Spans one({{0, 4 * block}}, 4 * block);
    EXPECT_THAT(segment_bounds(one, 1), ElementsAre(0, 4 * block));
    EXPECT_THAT(segment_bounds(one, 3), ElementsAre(0, block, 2 * block, 4 * block));
    // The gap has frozen elements; blocks count from the beginning of each range.
    const Spans two({{100, block + 1}, {3 * block, 10}}, 4 * block);
    EXPECT_THAT(segment_bounds(two, 2), ElementsAre(0, 100 + block, 4 * block));
    EXPECT_THAT(segment_bounds(two, 3), ElementsAre(0, 100 + block, 3 * block, 4 * block));
    EXPECT_THAT(segment_bounds(Spans({}, 64), 2), ElementsAre(0, 64, 64)) << "all frozen";
    for (const std::int64_t ranks : {4, 5, 9}) {
        const std::vector<std::int64_t> bounds = segment_bounds(two, ranks);
        EXPECT_EQ(bounds.front(), 0);
        EXPECT_EQ(bounds.back(), 4 * block);
        EXPECT_TRUE(std::is_sorted(bounds.begin(), bounds.end()));
    }
    expect_error([] { shards_of_rank(0, 3, 2); }, "2 for 3 ranks");
}

// (begin, end) of each call, in order.
using Ranges = std::vector<std::pair<std::int64_t, std::int64_t>>;

TEST(GradientBuckets, AreCompleteWithTheirLastElement) {
    const std::vector<std::int64_t> bounds = {0, 25, 25, 60};
    // 6..7 and 50..59 belong to no leaf: padding and frozen elements.
    const std::vector<Span> leaves = {{0, 6}, {8, 20}, {28, 10}, {38, 12}};
    GradientBuckets buckets(bounds, leaves, 10);
    EXPECT_EQ(buckets.most_of_segment(), 4);
    EXPECT_TRUE(buckets.of_segment(1).empty());
    ASSERT_EQ(buckets.of_segment(2).size(), 4u);
    EXPECT_EQ(buckets.of_segment(2)[3].begin, 55);
    EXPECT_EQ(buckets.of_segment(2)[3].number, 3);
    EXPECT_EQ(buckets.of_segment(2)[3].owner, 2);
    for (int pass = 0; pass < 2; ++pass) {
        Ranges ready;
        const auto see = [&](const GradientBucket& bucket) { ready.emplace_back(bucket.begin, bucket.end); };
        buckets.begin();
        buckets.complete({28, 10}, see);
        EXPECT_EQ(ready, Ranges());
        buckets.complete({38, 12}, see);
        EXPECT_EQ(ready, (Ranges{{35, 45}, {45, 55}}));
        buckets.complete({8, 20}, see);
        EXPECT_EQ(ready, (Ranges{{35, 45}, {45, 55}, {10, 20}, {20, 25}, {25, 35}}));
        expect_error([&] { buckets.complete({8, 20}, see); }, "elements 8 to 28 are complete a second time");
        buckets.complete_rest(see);
        EXPECT_EQ(ready, (Ranges{{35, 45}, {45, 55}, {10, 20}, {20, 25}, {25, 35}, {0, 10}, {55, 60}}));
        buckets.complete_rest(see);
        EXPECT_EQ(ready.size(), 7u);
    }
    const std::int64_t large = 5 * GradientBuckets::kMostOfSegment * GradientBuckets::kElements / 2;
    EXPECT_LE(GradientBuckets(std::vector<std::int64_t>{0, large}, {}).most_of_segment(), GradientBuckets::kMostOfSegment);
}

// The results of a training.
struct Left {
    std::vector<std::vector<double>> tensors;  // weights, and moments by name
    std::vector<double> numbers;               // of the reports

    friend bool operator==(const Left&, const Left&) = default;
};

class LearningTogether : public testing::Test {
  protected:
    LearningTogether() {
        options_.clip = 0.5;
        options_.shards = 4;
    }

    std::vector<PairBatch> batches(std::int64_t update) const {
        std::vector<std::int64_t> one, other;
        for (std::int64_t i = 0; i < 9; ++i) (i % 2 == 0 ? one : other).push_back((7 * update + 3 * i) % 60);
        return {make_batch(data_.training, one), make_batch(data_.training, other)};
    }

    // Runs `lead` on rank 0's learner; the other ranks follow.
    void together(int size, const std::function<void(Learner&)>& lead) const {
        on_threads(size, [&](Ranks& ranks) {
            // The other ranks start with other weights, and receive rank 0's.
            nn::Transformer model(tiny_model(data_, 0.2), static_cast<std::uint64_t>(1 + ranks.rank()));
            Learner learner(model, options_, 0, DType::f32, &ranks);
            if (ranks.rank() > 0) return learner.follow(data_.training);
            try {
                lead(learner);
            } catch (...) {
                send_command(ranks, Command::end);
                throw;
            }
            send_command(ranks, Command::end);
        });
    }
    void alone(const std::function<void(Learner&)>& lead) const {
        nn::Transformer model(tiny_model(data_, 0.2), 1);
        Learner learner(model, options_, 0);
        lead(learner);
    }

    void learn(Learner& learner, std::int64_t from, std::int64_t to, Left& left) const {
        for (std::int64_t update = from; update < to; ++update) {
            const UpdateReport report = learner.update(batches(update));
            left.numbers.insert(left.numbers.end(),
                                {report.loss, static_cast<double>(report.targets), static_cast<double>(report.correct),
                                 report.gradient_norm, report.learning_rate, static_cast<double>(learner.updates())});
        }
        left.tensors = {learner.parameters().values.to_vector()};
        for (const auto& [name, tensor] : learner.copy_of_moments()) {
            left.tensors.push_back(tensor.to_vector());
            Tensor(tensor).fill_(7);  // a copy
        }
    }

    const TrainingData data_ = copy_data(60);
    TrainingOptions options_ = tiny_training();
};

TEST_F(LearningTogether, LeavesTheBytesOfOneProcess) {
    for (const optim::Method method : {optim::Method::adamw, optim::Method::sgd})
        for (const std::int64_t shards : {4, 5, 12}) {
            options_.optimizer = method;
            options_.shards = shards;
            Left one;
            alone([&](Learner& learner) { learn(learner, 0, 6, one); });
            for (int size = 1; size <= std::min<std::int64_t>(shards, 5); ++size) {
                Left several;
                together(size, [&](Learner& learner) {
                    learn(learner, 0, 3, several);  // copying the moments, as saves do, changes nothing
                    learn(learner, 3, 6, several);
                });
                EXPECT_EQ(several, one) << size << " ranks, " << shards << " shards";
            }
        }
}

// As a resumed run does: weights, moments and the number of updates are set.
TEST_F(LearningTogether, GoesOnFromTheStateOfAnyNumberOfRanks) {
    Left whole, half;
    alone([&](Learner& learner) { learn(learner, 0, 6, whole); });
    together(3, [&](Learner& learner) { learn(learner, 0, 3, half); });
    for (const int size : {1, 2, 4}) {
        Left rest;
        together(size, [&](Learner& learner) {
            std::size_t i = 1;
            for (const auto& [name, tensor] : learner.moments_to_fill()) {
                Tensor to = tensor;
                const std::vector<double>& from = half.tensors[i++];
                to.copy_(Tensor::from(std::vector<float>(from.begin(), from.end()), tensor.shape()));
            }
            const std::vector<double>& weights = half.tensors[0];
            learner.parameters().values.copy_(
                Tensor::from(std::vector<float>(weights.begin(), weights.end()), learner.parameters().values.shape()));
            learner.set_updates(3);
            learn(learner, 3, 6, rest);
        });
        EXPECT_EQ(rest.tensors, whole.tensors) << size;
        half.numbers.insert(half.numbers.end(), rest.numbers.begin(), rest.numbers.end());
        EXPECT_EQ(half.numbers, whole.numbers);
        half.numbers.resize(half.numbers.size() - rest.numbers.size());
    }
}

// Other ranks start with other weights, and rank 0 changes its own between updates; validating does not change the training.
TEST_F(LearningTogether, ValidatesWithTheWeightsOfRank0) {
    Left wanted;
    alone([&](Learner& learner) { learn(learner, 0, 4, wanted); });
    const std::vector<PairBatch> validation = batches(17);
    on_threads(3, [&](Ranks& ranks) {
        nn::Transformer model(tiny_model(data_, 0.2), static_cast<std::uint64_t>(1 + ranks.rank()));
        Learner learner(model, options_, 0, DType::f32, &ranks);
        if (ranks.rank() > 0) return learner.follow(data_.training);
        const auto validate = [&] {
            learner.share_weights();
            model.eval();
            const std::vector<Likelihood> found = likelihoods_on_ranks(ranks, model, validation);
            for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i].nll, likelihood(model, validation[i]).nll) << i;
            model.train();
        };
        validate();
        Left left;
        learn(learner, 0, 2, left);
        validate();
        const Tensor trained = learner.parameters().values.clone();
        for (const Tensor& weights : {Tensor::randn(trained.shape(), 5), trained}) {
            learner.parameters().values.copy_(weights);
            learner.set_updates(learner.updates());
            validate();
        }
        learn(learner, 2, 4, left);
        EXPECT_EQ(left, wanted);
        send_command(ranks, Command::end);
    });
}

TEST_F(LearningTogether, DivergesWithTheMessageOfOneProcessAndCanGoOn) {
    const auto diverge = [&](Learner& learner) {
        Tensor& weights = learner.parameters().values;
        const Tensor good = weights.clone();
        weights.fill_(std::numeric_limits<double>::quiet_NaN());
        const std::string message = error_of([&] { learner.update(batches(0)); });
        EXPECT_EQ(learner.updates(), 0);
        weights.copy_(good);
        learner.set_updates(0);  // so that the others get the weights again
        Left left;
        learn(learner, 0, 2, left);
        return std::pair(message, left);
    };
    std::pair<std::string, Left> one, several;
    alone([&](Learner& learner) { one = diverge(learner); });
    EXPECT_THAT(one.first, testing::HasSubstr("in update 1: the loss is nan"));
    EXPECT_THAT(one.first, testing::HasSubstr("--lr"));
    together(3, [&](Learner& learner) { several = diverge(learner); });
    EXPECT_EQ(several.first, one.first);
    EXPECT_EQ(several.second, one.second);
}

// Most of the sums are sent before the last backward pass ends: all but the part that ends with the embeddings.
TEST_F(LearningTogether, SendsSumsWhileBackwardRuns) {
    for (const std::int64_t shards : {4, 12})
        for (const int size : {2, 3, 4}) {
            options_.shards = shards;
            std::vector<ExchangeCosts> costs(static_cast<std::size_t>(size));
            on_threads(size, [&](Ranks& ranks) {
                nn::Transformer model(tiny_model(data_, 0.2), 1);
                Learner learner(model, options_, 0, DType::f32, &ranks);
                if (ranks.rank() > 0) {
                    learner.follow(data_.training);
                } else {
                    for (std::int64_t update = 0; update < 3; ++update) learner.update(batches(update));
                    send_command(ranks, Command::end);
                }
                costs[static_cast<std::size_t>(ranks.rank())] = learner.exchange_costs();
            });
            ExchangeCosts all;
            for (const ExchangeCosts& each : costs) {
                EXPECT_EQ(each.updates, 3);
                EXPECT_LE(each.sent_early, each.gradients.sent);
                EXPECT_LE(each.received_early, each.gradients.received);
                all.gradients.add(each.gradients);
                all.weights.add(each.weights);
                all.sent_early += each.sent_early;
            }
            EXPECT_EQ(all.gradients.sent, all.gradients.received);
            EXPECT_EQ(all.weights.sent, all.weights.received);
            EXPECT_GT(all.sent_early, all.gradients.sent / 4) << size << " ranks, " << shards << " shards";
        }
}

TEST_F(LearningTogether, SendsNoMoreThanTheCostModelSays) {
    std::int64_t parameters = 0;
    const auto bytes_of_updates = [&](int size, std::int64_t updates) {
        return on_threads(size, [&](Ranks& ranks) {
            nn::Transformer model(tiny_model(data_, 0.2), 1);
            Learner learner(model, options_, 0, DType::f32, &ranks);
            if (ranks.rank() > 0) return learner.follow(data_.training);
            parameters = learner.parameters().values.numel();
            for (std::int64_t update = 0; update < updates; ++update) learner.update(batches(update));
            send_command(ranks, Command::end);
        });
    };
    for (const int size : {2, 4}) {  // each rank has one subtree
        const auto per_update = static_cast<double>(bytes_of_updates(size, 3) - bytes_of_updates(size, 1)) / 2;
        const double model = 2.0 * (size - 1) * 4 * static_cast<double>(parameters);  // for all ranks together
        EXPECT_GE(per_update, model);
        EXPECT_LE(per_update, model + 4096.0 * size) << "losses, squares and orders are small";
    }
}

}  // namespace
}  // namespace heddle::app
