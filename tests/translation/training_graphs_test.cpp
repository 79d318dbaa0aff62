// Captured and replayed training steps, compared with direct ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "apps/translation/training/learner.h"
#include "autograd/tape.h"
#include "core/format.h"
#include "kernels/update_tally/update_tally.h"
#include "tests/translation/training_device_support.h"

namespace heddle::app {
namespace {

using TrainingGraphs = TrainingOnDevice;

TrainingOptions warming_up(bool graphs = true) {
    TrainingOptions options = short_training();
    options.schedule = optim::ScheduleKind::inverse_sqrt;  // a different rate in each update
    options.warmup = 2;
    options.cuda_graphs = graphs;
    return options;
}

/// A model on the device that accumulates gradients of batches.
struct Subject {
    explicit Subject(const TrainingData& data, double dropout = 0.1) : Subject(tiny_model(data, dropout)) {}
    explicit Subject(const nn::TransformerOptions& options) : model(options, 3) {
        model.to(Device::cuda);
        parameters = nn::flatten(model);
        tally = kernels::empty_tally(Device::cuda);
        generator().seed = 1;
    }

    StepGraphs::Step step() {
        return [this](const StepInputs& inputs) {
            Generator keys = generator();
            keys.calls.clear();
            keys.step_key_on_device = inputs.random_key;
            const RandomState random(std::move(keys));
            add(inputs.source, inputs.target_in, inputs.target_out, {.divisor_in_memory = inputs.divisor});
        };
    }

    void add(const nn::Sentences& source, const nn::Sentences& target_in, const Tensor& target_out,
             const ops::LossOptions& options) {
        Tensor statistics;
        const Variable loss = model.loss(source, target_in, target_out, options, &statistics);
        kernels::tally_losses(tally, statistics);
        backward(loss);
    }

    /// The gradients accumulated since the last call.
    Tensor take() {
        const Tensor gradients = copy_on_cpu(parameters.gradients);
        parameters.zero_gradients();
        return gradients;
    }

    /// The summed loss accumulated since the last call.
    double take_loss() {
        const std::vector<double> numbers = tally.to_vector();
        tally.fill_(0);
        return numbers[kernels::kTallyPending];
    }

    nn::Transformer model;
    nn::FlatParameters parameters;
    Tensor tally;
    MemoryArena arena;
};

std::uint64_t key_of(std::int64_t update) {
    generator().start(static_cast<std::uint64_t>(update), 0);
    return generator().step_key();
}

TEST_F(TrainingGraphs, AReplayGivesTheBitsOfADirectStep) {
    const DeviceSetting setting;
    Subject subject(setting.data);
    // Memory from segments, as on a GPU; the other tests use the emulator's default arena.
    MemoryArena arena(false);
    StepGraphs graphs(subject.step(), arena, std::nullopt);
    std::vector<Tensor> replayed;
    // Alternates batches of one capacity: the first runs directly, the second is captured, the others are replayed.
    for (std::int64_t i = 0; i < 8; ++i) {
        graphs.run(setting.batch(i % 4), key_of(i), 40.0 + static_cast<double>(i));
        replayed.push_back(subject.take());
    }
    EXPECT_GE(graphs.counts().replayed, 4);
    EXPECT_EQ(graphs.counts().direct + graphs.counts().captured + graphs.counts().replayed, 8);
    for (std::int64_t i = 0; i < 8; ++i) {
        StepGraphs direct(subject.step(), subject.arena, std::nullopt);
        direct.run(setting.batch(i % 4), key_of(i), 40.0 + static_cast<double>(i));
        EXPECT_TRUE(same_bits(subject.take(), replayed[static_cast<std::size_t>(i)])) << "step " << i;
    }
}

// Rows and sentences that only fill the capacity add nothing: the gradients are those of the batch alone, up to the order of
// sums.
TEST_F(TrainingGraphs, ACapacityAddsNothing) {
    const DeviceSetting setting;
    Subject subject(setting.data);
    StepGraphs graphs(subject.step(), subject.arena, std::nullopt);
    for (const std::int64_t number : {1, 2, 3}) {
        const PairBatch batch = setting.batch(number);
        graphs.run(batch, key_of(number), static_cast<double>(batch.target_tokens));
        const Tensor within = subject.take();
        const double loss_within = subject.take_loss();
        key_of(number);
        subject.add({Tensor::from(batch.source, {batch.source_tokens}), batch.source_spans},
                    {Tensor::from(batch.target_in, {batch.target_tokens}), batch.target_spans},
                    Tensor::from(batch.target_out, {batch.target_tokens}), {.divisor = static_cast<double>(batch.target_tokens)});
        const Tensor alone = subject.take();
        const double loss_alone = subject.take_loss();
        EXPECT_GT(loss_alone, 0);
        EXPECT_LE(std::abs(loss_within - loss_alone), 1e-6 * loss_alone);
        double largest = 0, difference = 0;
        for (std::int64_t i = 0; i < alone.numel(); ++i) {
            const double a = static_cast<double>(alone.data<float>()[i]), b = static_cast<double>(within.data<float>()[i]);
            ASSERT_TRUE(std::isfinite(a) && std::isfinite(b));
            largest = std::max(largest, std::abs(a));
            difference = std::max(difference, std::abs(a - b));
        }
        EXPECT_GT(largest, 1e-3);
        // f32 sums of up to 64 terms in two different orders.
        EXPECT_LE(difference, 64 * 0x1p-24 * largest);
    }
}

struct Trained {
    Tensor weights;
    LossReading reading;
    StepGraphs::Counts counts;
    std::int64_t launches_of_the_last = 0;
    std::int64_t waits = 0;
};

// Updates of two batches each.
Trained train(const TrainingOptions& options, std::int64_t updates, bool prepared = false) {
    const DeviceSetting setting;
    nn::Transformer model(tiny_model(setting.data, 0.1), 3);
    model.to(Device::cuda);
    Learner learner(model, options, updates);
    BatchStream stream(setting.data.training, {.batch_tokens = 64}, 1);
    if (prepared) learner.pack_ahead(stream);
    Trained run;
    for (std::int64_t update = 0; update < updates; ++update) {
        std::vector<PairBatch> batches = setting.batches(update);
        if (prepared)
            for (PairBatch& batch : batches) batch = stream.next();
        const device::Statistics before = device::statistics();
        learner.update(batches);
        const device::Statistics after = device::statistics();
        run.launches_of_the_last = after.launches - before.launches;
        run.waits += after.synchronisations - before.synchronisations + after.copies_to_host - before.copies_to_host;
    }
    run.reading = learner.read();
    run.counts = learner.graph_counts();
    run.weights = copy_on_cpu(learner.parameters().values);
    return run;
}

TEST_F(TrainingGraphs, UpdatesAreReplayedWithoutLaunchesAndWaits) {
    const Trained run = train(warming_up(), 5);
    EXPECT_EQ(run.counts.direct + run.counts.captured + run.counts.replayed, 10);
    EXPECT_GT(run.counts.replayed, 5);
    EXPECT_EQ(run.launches_of_the_last, 0) << "all in graphs";
    EXPECT_EQ(run.waits, 0);
}

TEST_F(TrainingGraphs, BatchesOfTheStreamGiveTheSameBits) {
    const Trained plain = train(warming_up(), 5), fed = train(warming_up(), 5, true);
    EXPECT_TRUE(same_bits(plain.weights, fed.weights));
    EXPECT_EQ(plain.reading.loss, fed.reading.loss);
}

TEST_F(TrainingGraphs, TakeEveryOptimizer) {
    for (const optim::Method optimizer : {optim::Method::adam, optim::Method::adamw, optim::Method::sgd}) {
        TrainingOptions options = warming_up();
        options.optimizer = optimizer;
        options.weight_decay = 0.01;
        TrainingOptions without = options;
        without.cuda_graphs = false;
        const double with = train(options, 4).reading.loss, direct = train(without, 4).reading.loss;
        EXPECT_LE(std::abs(with - direct), 1e-4 * direct) << word_of(optimizer);  // adam_device_test compares bits
    }
}

// Dropout uses the key at the time of the replay, not that of the capture.
TEST_F(TrainingGraphs, DrawAnewInEachReplay) {
    const DeviceSetting setting;
    const PairBatch batch = setting.batch(0);
    Subject subject(setting.data, 0.3);
    StepGraphs graphs(subject.step(), subject.arena, std::nullopt);
    std::vector<Tensor> gradients;
    for (const std::int64_t update : {1, 2, 3, 4, 3}) {
        graphs.run(batch, key_of(update), 10);
        gradients.push_back(subject.take());
    }
    EXPECT_FALSE(same_bits(gradients[2], gradients[3]));
    EXPECT_TRUE(same_bits(gradients[2], gradients[4]));
}

// A longer sentence extends the table of positions; graphs captured before still read the shorter one.
TEST_F(TrainingGraphs, OutliveALongerTableOfPositions) {
    const DeviceSetting setting;
    nn::TransformerOptions options = tiny_model(setting.data, 0.1);
    options.position_table = 10;
    Subject subject(options);
    StepGraphs graphs(subject.step(), subject.arena, std::nullopt);
    const PairBatch batch = setting.batch(0);
    Tensor before;
    for (const std::int64_t update : {1, 2, 3}) {
        graphs.run(batch, key_of(update), 10);
        before = subject.take();
    }
    const std::vector<std::int32_t> words(100, 4);
    const TokenPair pair{words, words};
    graphs.run(make_batch(std::span(&pair, 1), std::vector<std::int64_t>{0}), key_of(4), 10);
    subject.take();
    graphs.run(batch, key_of(3), 10);
    EXPECT_EQ(graphs.counts().replayed, 2);
    EXPECT_TRUE(same_bits(subject.take(), before));
}

TEST(BatchCapacity, HoldsTheBatch) {
    const TrainingData data = copy_data(2000);
    const BatchPlan plan = plan_batches(data.training, {.batch_tokens = 700}, 1, 1);
    for (const auto& indices : plan.batches) {
        const PairBatch batch = make_batch(data.training, indices);
        const BatchCapacity capacity = capacity_of(batch, std::nullopt);
        for (const auto& [spans, within] :
             {std::pair(batch.source_spans, capacity.source), std::pair(batch.target_spans, capacity.target)}) {
            EXPECT_GE(within.rows, spans.rows());
            EXPECT_LE(within.rows, spans.rows() + std::max<std::int64_t>(127, spans.rows() / 8));
            EXPECT_GT(within.sentences, spans.size());
            EXPECT_GE(within.longest, spans.longest());
            const Spans inside = spans.within(within);
            EXPECT_TRUE(inside.has_gaps());
            EXPECT_EQ(inside.tokens(), spans.tokens());
            EXPECT_EQ(inside.size(), within.sentences);
        }
    }
}

TEST(BatchCapacity, NeverPassesATableOfPositions) {
    const TrainingData data = copy_data(10);
    const PairBatch batch = make_batch(data.training, std::vector<std::int64_t>{0, 1, 2});
    EXPECT_EQ(capacity_of(batch, 12).source.longest, 12);
    EXPECT_EQ(capacity_of(batch, std::nullopt).source.longest, 32);
}

TEST(BatchStream, TellsWhatWentWrongOnItsThread) {
    const TrainingData data = copy_data(200);
    for (const std::int64_t ahead : {0, 3}) {
        std::int64_t made = 0;
        BatchStream stream(data.training, {.batch_tokens = 64}, 1);
        stream.pack_ahead(ahead, [&](PairBatch&) { check(++made < 3, "the third batch is bad"); });
        stream.next();
        stream.next();
        expect_error([&] { stream.next(); }, "the third batch is bad");
    }
}

// Ends in the middle, when the thread waits, and when it works.
TEST(BatchStream, MayEndAtAnyTime) {
    const TrainingData data = copy_data(200);
    for (int i = 0; i < 20; ++i) {
        BatchStream stream(data.training, {.batch_tokens = 64}, 1);
        stream.pack_ahead(1 + i % 3);
        for (int j = 0; j < i % 4; ++j) stream.next();
    }
}

}  // namespace
}  // namespace heddle::app
