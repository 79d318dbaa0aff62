// Ranks that train together, as threads: the results of one process, bit for bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "apps/translation/training/learner.h"
#include "apps/translation/training/orders.h"
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
    // Frozen elements lie in a gap; blocks count from the beginning of each range.
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

TEST(RankExchange, SumsAndMeasuresWithTheSameBitsOnAnyNumberOfRanks) {
    const Spans active({{5, 20'000}, {20'100, 9'000}}, 30'000);
    const auto gradient = [](std::int64_t shard) { return Tensor::randn({30'000}, static_cast<std::uint64_t>(shard)); };
    for (const std::int64_t shards : {1, 2, 3, 4, 6, 7, 12}) {
        Tensor alone = Tensor::zeros({30'000});
        sum_shards(alone, {0, shards}, [&](std::int64_t shard) { alone.copy_(gradient(shard)); });
        const double norm = kernels::gradient_norm(alone, active);
        for (int size = 1; size <= shards && size <= 5; ++size) {
            Tensor together = Tensor::zeros({30'000});
            on_threads(size, [&](Ranks& ranks) {
                const RankExchange exchange(ranks, shards, active);
                Tensor own = Tensor::zeros({30'000});
                std::vector<Tensor> sums;
                std::vector<double> numbers;
                for (const ShardRange& tree : exchange.own_trees()) {
                    sum_shards(own, tree, [&](std::int64_t shard) {
                        own.copy_(gradient(shard));
                        numbers.push_back(static_cast<double>(shard));
                    });
                    sums.push_back(own.clone());
                }
                exchange.sum_gradients(own, sums);
                const RankExchange::Measured measured = exchange.measure(own, numbers, 1);
                EXPECT_EQ(measured.norm, norm);
                ASSERT_EQ(static_cast<std::int64_t>(measured.of_shards.size()), shards);
                for (std::int64_t i = 0; i < shards; ++i)
                    EXPECT_EQ(measured.of_shards[static_cast<std::size_t>(i)], static_cast<double>(i));
                exchange.gather_everywhere(own);
                if (exchange.leads()) together = own;
            });
            EXPECT_EQ(std::memcmp(together.bytes_data(), alone.bytes_data(), static_cast<std::size_t>(alone.bytes())), 0)
                << size << " ranks, " << shards << " shards";
        }
    }
}

// What a training leaves.
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

    std::vector<Batch> batches(std::int64_t update) const {
        std::vector<std::int64_t> one, other;
        for (std::int64_t i = 0; i < 9; ++i) (i % 2 == 0 ? one : other).push_back((7 * update + 3 * i) % 60);
        return {make_batch(data_.training, one), make_batch(data_.training, other)};
    }

    // `lead` on rank 0's learner, whom the others follow.
    void together(int size, const std::function<void(Learner&)>& lead) const {
        on_threads(size, [&](Ranks& ranks) {
            // Other weights on the other ranks: they get rank 0's.
            nn::Transformer model(tiny_model(data_, 0.2), static_cast<std::uint64_t>(1 + ranks.rank()));
            Learner learner(model, options_, 0, DType::f32, &ranks);
            if (ranks.rank() > 0) return learner.follow(data_.training);
            try {
                lead(learner);
            } catch (...) {
                give_order(ranks, Order::end);
                throw;
            }
            give_order(ranks, Order::end);
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
        for (const auto& [name, tensor] : learner.copy_of_moments()) left.tensors.push_back(tensor.to_vector());
    }

    const TrainingData data_ = copy_data(60);
    TrainingOptions options_ = tiny_training();
};

TEST_F(LearningTogether, LeavesTheBytesOfOneProcess) {
    for (const optim::Method method : {optim::Method::adamw, optim::Method::sgd})
        for (const std::int64_t shards : {4, 5}) {
            options_.optimizer = method;
            options_.shards = shards;
            Left one;
            alone([&](Learner& learner) { learn(learner, 0, 6, one); });
            for (int size = 1; size <= shards; ++size) {
                Left several;
                together(size, [&](Learner& learner) { learn(learner, 0, 6, several); });
                EXPECT_EQ(several, one) << size << " ranks, " << shards << " shards";
            }
        }
}

// As a resumed run does: weights and moments are filled in, and the number of updates told.
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

// As saves do, which leave a training as it is.
TEST_F(LearningTogether, GoesOnAfterItsMomentsWereCopied) {
    const auto copy_between = [&](Learner& learner) {
        Left left;
        learn(learner, 0, 2, left);
        const nn::NamedTensors copied = learner.copy_of_moments();
        const double first = copied.front().second.to_vector().front();
        for (const auto& [name, tensor] : copied) Tensor(tensor).fill_(7);  // copies: nothing of the learner's
        EXPECT_EQ(learner.copy_of_moments().front().second.to_vector().front(), first);
        learn(learner, 2, 4, left);
        return left;
    };
    Left whole, one, several;
    alone([&](Learner& learner) { learn(learner, 0, 4, whole); });
    alone([&](Learner& learner) { one = copy_between(learner); });
    together(3, [&](Learner& learner) { several = copy_between(learner); });
    EXPECT_EQ(one, whole);
    EXPECT_EQ(several, whole);
}

TEST_F(LearningTogether, DivergesWithTheMessageOfOneProcessAndCanGoOn) {
    const auto diverge = [&](Learner& learner) {
        Tensor& weights = learner.parameters().values;
        const Tensor good = weights.clone();
        weights.fill_(std::numeric_limits<double>::quiet_NaN());
        const std::string message = error_of([&] { learner.update(batches(0)); });
        EXPECT_EQ(learner.updates(), 0);
        weights.copy_(good);
        learner.set_updates(0);  // the others need the weights again
        Left left;
        learn(learner, 0, 2, left);
        return std::pair(message, left);
    };
    std::pair<std::string, Left> one, several;
    alone([&](Learner& learner) { one = diverge(learner); });
    EXPECT_THAT(one.first, testing::HasSubstr("in update 1: the loss is nan"));
    together(3, [&](Learner& learner) { several = diverge(learner); });
    EXPECT_EQ(several.first, one.first);
    EXPECT_EQ(several.second, one.second);
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
            give_order(ranks, Order::end);
        });
    };
    for (const int size : {2, 4}) {  // each rank has one subtree
        const auto per_update = static_cast<double>(bytes_of_updates(size, 3) - bytes_of_updates(size, 1)) / 2;
        const double model = 2.0 * (size - 1) * 4 * static_cast<double>(parameters);  // of all ranks together
        EXPECT_GE(per_update, model);
        EXPECT_LE(per_update, model + 4096.0 * size) << "losses, squares and orders are small";
    }
}

}  // namespace
}  // namespace heddle::app
