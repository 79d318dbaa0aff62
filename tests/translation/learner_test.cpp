// One update: sums over batches, seeds, clipping, learning rate, errors.
#include "apps/translation/training/learner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>

#include "tests/translation/training_support.h"

namespace heddle::app {
namespace {

PairBatch batch_of(const TrainingData& data, std::vector<std::int64_t> indices) { return make_batch(data.training, indices); }

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
    double largest = a.size() == b.size() ? 0 : std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
        const double difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
        if (!(difference <= largest)) largest = difference;
    }
    return largest;
}

TEST(Learner, ComputesTwoHalfBatchesLikeOneWholeBatch) {
    const TrainingData data = copy_data(40);
    nn::Transformer one(tiny_model(data)), two(tiny_model(data));
    Learner whole(one, tiny_training(), 0), halves(two, tiny_training(), 0);
    const PairBatch full = batch_of(data, {0, 1, 2, 3, 4, 5});
    const PairBatch parts[] = {batch_of(data, {0, 1}), batch_of(data, {2, 3, 4, 5})};
    const UpdateReport a = whole.update({&full, 1});
    const UpdateReport b = halves.update(parts);
    EXPECT_EQ(a.targets, b.targets);
    EXPECT_EQ(a.tokens, b.tokens);
    EXPECT_EQ(a.sentences, 6);
    EXPECT_NEAR(a.loss, b.loss, 1e-4 * a.loss);
    EXPECT_NEAR(a.gradient_norm, b.gradient_norm, 1e-4 * a.gradient_norm);
    const double scale = 1e-4 * largest_difference(weights_of(whole), std::vector<float>(weights_of(whole).size(), 0.0f));
    EXPECT_LE(largest_difference(weights_of(whole), weights_of(halves)), scale);
}

// A model with dropout, and its learner.
struct Pupil {
    Pupil(const TrainingData& data, std::uint64_t seed) : model(tiny_model(data, 0.3)), learner(model, options(seed), 0) {}
    static TrainingOptions options(std::uint64_t seed) {
        TrainingOptions options = tiny_training();
        options.seed = seed;
        return options;
    }

    nn::Transformer model;
    Learner learner;
};

TEST(Learner, DrawsFromItsOwnSeedBesideOthersAndOnEveryThread) {
    const TrainingData data = copy_data(40);
    const PairBatch batches[] = {batch_of(data, {0, 1, 2}), batch_of(data, {3, 4, 5})};
    const auto alone = [&](std::uint64_t seed) {
        Pupil pupil(data, seed);
        for (const PairBatch& batch : batches) pupil.learner.update({&batch, 1});
        return weights_of(pupil.learner);
    };
    const std::vector<float> seven = alone(7), eight = alone(8);
    ASSERT_NE(seven, eight);
    const std::uint64_t state = generator().step_key();
    Pupil one(data, 7), other(data, 8), moved(data, 7);
    for (const PairBatch& batch : batches) {
        one.learner.update({&batch, 1});
        other.learner.update({&batch, 1});
    }
    std::thread([&] {
        for (const PairBatch& batch : batches) moved.learner.update({&batch, 1});
    }).join();
    EXPECT_EQ(weights_of(one.learner), seven);
    EXPECT_EQ(weights_of(other.learner), eight);
    EXPECT_EQ(weights_of(moved.learner), seven) << "made on one thread, used on another";
    EXPECT_EQ(generator().step_key(), state) << "the thread's own generator is as it was";
}

TEST(Learner, ReportsTheNormBeforeClippingAndStepsByTheClippedGradient) {
    const TrainingData data = copy_data(20);
    TrainingOptions options = tiny_training();
    options.optimizer = optim::Method::sgd;
    options.momentum = 0;
    options.schedule = optim::ScheduleKind::constant;
    options.lr = 1;
    options.clip = 1e-3;
    nn::Transformer model(tiny_model(data));
    Learner learner(model, options, 0);
    const std::vector<float> before = weights_of(learner);
    const PairBatch batch = batch_of(data, {0, 1, 2});
    const UpdateReport report = learner.update({&batch, 1});
    EXPECT_GT(report.gradient_norm, 1e-2);
    double squares = 0;
    const std::vector<float> after = weights_of(learner);
    for (std::size_t i = 0; i < before.size(); ++i)
        squares += std::pow(static_cast<double>(after[i]) - static_cast<double>(before[i]), 2);
    EXPECT_NEAR(std::sqrt(squares), 1e-3, 2e-5) << "a step of sgd with rate 1 is as long as the clipped gradient";
}

TEST(Learner, FollowsTheSchedule) {
    const TrainingData data = copy_data(20);
    TrainingOptions options = tiny_training();
    options.lr = 0.3;
    options.warmup = 4;
    nn::Transformer model(tiny_model(data));
    Learner learner(model, options, 0);
    const PairBatch batch = batch_of(data, {0, 1, 2});
    EXPECT_NEAR(learner.update({&batch, 1}).learning_rate, 0.3 / 4, 1e-12);
    EXPECT_NEAR(learner.update({&batch, 1}).learning_rate, 0.3 * 2 / 4, 1e-12);
    EXPECT_EQ(learner.updates(), 2);
}

}  // namespace
}  // namespace heddle::app
