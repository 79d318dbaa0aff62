// Helpers for the tests of training on a device.
#pragma once

#include <gtest/gtest.h>

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

}  // namespace heddle::app
