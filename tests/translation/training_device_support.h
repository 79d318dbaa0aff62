// Helpers for the tests of training on a device.
#pragma once

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/devices.h"
#include "tests/support.h"
#include "tests/translation/training_support.h"

namespace heddle::app {

/// Skips its tests, with the reason, if there is no device.
class TrainingOnDevice : public testing::Test {
  protected:
    void SetUp() override {
        if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    }
};

/// Batches of at most 64 tokens, no warm-up.
inline TrainingOptions short_training() {
    TrainingOptions options = tiny_training();
    options.batch_tokens = 64;
    options.warmup = 0;
    options.lr = 5e-3;
    options.schedule = optim::ScheduleKind::constant;
    return options;
}

/// Pairs, and batches of them for updates on a device.
struct DeviceSetting {
    TrainingData data = copy_data(400);
    TrainingOptions options = short_training();
    BatchPlan plan = plan_batches(data.training, {.batch_tokens = 64}, 1, 1);

    PairBatch batch(std::int64_t number) const {
        return make_batch(data.training, plan.batches.at(static_cast<std::size_t>(number)));
    }
    std::vector<PairBatch> batches(std::int64_t update) const { return {batch(2 * update), batch(2 * update + 1)}; }
};

/// Makes a weight NaN.
inline void spoil(const nn::FlatParameters& flat) {
    const nn::FlatParameters::Entry& entry = flat.entries.at(7);
    Tensor weight = flat.values.slice(entry.begin, entry.begin + entry.count);
    weight.fill_(std::numeric_limits<double>::quiet_NaN());
    flat.round_again();
}

}  // namespace heddle::app
