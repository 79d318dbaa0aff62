// Ranks that train together on devices: gradients are sent while backward runs, and the bits are those of one process. The ranks
// are threads, each with its own stream; they share one device, so messages go through the host.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <limits>
#include <mutex>
#include <utility>
#include <vector>

#include "apps/translation/distributed/gradient_buckets.h"
#include "apps/translation/distributed/message.h"
#include "apps/translation/training/learner.h"
#include "core/graph.h"
#include "kernels/cast/cast.h"
#include "tests/translation/thread_ranks.h"
#include "tests/translation/training_device_support.h"

namespace heddle::app {
namespace {

using TrainingRanks = TrainingOnDevice;

void on_streams(int size, const std::function<void(Ranks&)>& body) {
    on_threads(size, [&](Ranks& ranks) {
        const device::SideStream own;
        const device::WithStream use(own.get());
        body(ranks);
    });
}

using Ranges = std::vector<std::pair<std::int64_t, std::int64_t>>;

// Each bucket is read after its own mark, during a pass that is direct, captured or replayed; the rest at its end.
TEST_F(TrainingRanks, BucketsLeaveInTheOrderInWhichTheyAreComplete) {
    GradientBuckets cut(std::vector<std::int64_t>{0, 4000, 8000}, {}, 1000);
    const std::span<const GradientBucket> buckets = cut.all();
    const device::SideStream own;
    const device::WithStream use(own.get());
    Tensor gradients = Tensor::zeros({8000}, DType::f32, Device::cuda), value = Tensor::zeros({1000}, DType::f32, Device::cuda),
           rest = Tensor::zeros({1000}, DType::f32, Device::cuda);
    BucketStream stream(buckets.size());
    expect_error([&] { stream.run(buckets, [](std::span<const GradientBucket>) {}); }, "never set");
    const auto pass = [&] {
        for (std::size_t i = buckets.size(); i-- > 0;) {
            gradients.slice(buckets[i].begin, buckets[i].end).copy_(value);
            stream.complete(i);
        }
        for (int i = 0; i < 50; ++i) kernels::fill(rest, i);  // still running when the first ones are exchanged
    };
    device::Graph graph;
    for (const std::size_t early : {8, 3, 8, 1}) {
        const double number = 1 + static_cast<double>(early);
        value.fill_(number);
        stream.begin();
        if (early == 8) {
            pass();
        } else {
            if (!graph.captured()) graph.capture(pass);
            graph.launch();
        }
        stream.send_early(early - 1);
        Ranges seen;
        stream.run(buckets, [&](std::span<const GradientBucket> together) {
            seen.emplace_back(together.front().begin, together.back().end);
            for (const double x : gradients.slice(seen.back().first, seen.back().second).to_vector()) ASSERT_EQ(x, number);
        });
        Ranges wanted;
        for (std::size_t i = 0; i < early; ++i) wanted.emplace_back(buckets[7 - i].begin, buckets[7 - i].end);
        if (early < 8) wanted.emplace_back(0, buckets[8 - early].begin);
        EXPECT_EQ(seen, wanted);
        EXPECT_LE(stream.in_time(), early);
        if (device::emulated()) {
            EXPECT_GE(stream.in_time(), 1u) << "it runs what is waited for, and little else";
        }
        EXPECT_GE(stream.waited(), 0);
        gradients.fill_(std::numeric_limits<double>::quiet_NaN());  // after the exchange
    }
    stream.send_early(2);
    EXPECT_EQ(stream.early(), 3u);
    stream.send_early(8);
    EXPECT_EQ(stream.early(), 8u);
    device::synchronize();
}

// The results of a training: weights, and the numbers of its reports.
struct Left {
    std::vector<double> weights, numbers;

    friend bool operator==(const Left&, const Left&) = default;
};

// With fewer sentences than shards the last shards are empty.
TEST_F(TrainingRanks, LeaveTheBytesOfOneProcess) {
    const TrainingData data = copy_data(60);
    TrainingOptions options = tiny_training();
    options.clip = 0.5;
    const auto learn = [&](Learner& learner) {
        Left left;
        for (std::int64_t update = 0; update < 3; ++update) {
            std::vector<std::int64_t> one, other;
            for (std::int64_t i = 0; i < 9; ++i) one.push_back((7 * update + 3 * i) % 60);
            for (std::int64_t i = 0; i < (update == 1 ? 1 : 6); ++i) other.push_back((5 * update + 2 * i) % 60);
            std::vector<PairBatch> batches = {make_batch(data.training, other)};
            if (update != 1) batches.push_back(make_batch(data.training, one));
            UpdateReport report = learner.update(batches);
            if (!report.read) {
                const LossReading reading = learner.read();
                report.loss = reading.loss;
                report.correct = reading.correct;
                report.gradient_norm = reading.gradient_norm;
            }
            left.numbers.insert(left.numbers.end(), {report.loss, static_cast<double>(report.correct), report.gradient_norm});
        }
        left.weights = learner.parameters().values.to_vector();
        return left;
    };
    const auto subject = [&](Ranks* ranks, const auto& use) {
        // The other ranks start with other weights, and receive rank 0's.
        nn::Transformer model(tiny_model(data, 0.2), static_cast<std::uint64_t>(1 + (ranks != nullptr ? ranks->rank() : 0)));
        model.to(Device::cuda);
        Learner learner(model, options, 0, DType::f32, ranks);
        use(learner);
    };
    for (const bool graphs : {true, false})
        for (const auto& [shards, size] : {std::pair(2, 2), {4, 2}, {5, 3}}) {
            options.cuda_graphs = graphs;
            options.shards = shards;
            Left one;
            subject(nullptr, [&](Learner& learner) { one = learn(learner); });
            device::synchronize();
            std::mutex mutex;
            ExchangeCosts all;
            std::int64_t replayed = 0;
            Left several;
            on_streams(size, [&](Ranks& ranks) {
                subject(&ranks, [&](Learner& learner) {
                    if (ranks.rank() > 0) {
                        learner.follow(data.training);
                    } else {
                        several = learn(learner);
                        send_command(ranks, Command::end);
                    }
                    const ExchangeCosts costs = learner.exchange_costs();
                    EXPECT_EQ(costs.between_devices, "the hosts' memory");
                    const std::lock_guard lock(mutex);
                    all.gradients.add(costs.gradients);
                    all.sent_early += costs.sent_early;
                    all.received_early += costs.received_early;
                    replayed += learner.graph_counts().replayed;
                });
                device::synchronize();
            });
            SCOPED_TRACE(fmt::format("{} ranks, {} shards, graphs {}", size, shards, graphs));
            EXPECT_EQ(several, one);
            EXPECT_EQ(replayed > 0, graphs);
            EXPECT_EQ(all.gradients.sent, all.gradients.received);
            EXPECT_LE(all.sent_early, all.gradients.sent);
            EXPECT_LE(all.received_early, all.gradients.received);
            if (device::emulated()) {
                EXPECT_GT(all.sent_early, 0);
                EXPECT_GT(all.received_early, 0);
            }
        }
}

}  // namespace
}  // namespace heddle::app
