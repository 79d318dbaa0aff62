// Durations when the steady clock runs backwards, as under some virtual machines and libraries that change the time.
#include "apps/translation/run/clock.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support.h"
#include "tests/translation/training_support.h"

namespace {
std::atomic<bool> backwards{false};
std::atomic<long> looks{0};
}  // namespace

/// Replaces libc's: while `backwards`, each reading of the steady clock is a second before the previous one, and every tenth one
/// two minutes.
extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
    const auto result = static_cast<int>(::syscall(SYS_clock_gettime, clock, time));
    if (backwards && clock == CLOCK_MONOTONIC) {
        const long look = ++looks;
        time->tv_sec -= look + look / 10 * 119;
    }
    return result;
}

namespace heddle::app {
namespace {

class ClockThatRunsBackwards : public testing::Test {
  protected:
    ClockThatRunsBackwards() { backwards = true; }
    ~ClockThatRunsBackwards() override { backwards = false; }
};

TEST_F(ClockThatRunsBackwards, MeasuresNoNegativeTime) {
    const auto start = std::chrono::steady_clock::now();
    ASSERT_LT(std::chrono::steady_clock::now(), start) << "the test's clock is not the one that programs see";
    EXPECT_EQ(seconds_since(start), 0);
}

TEST(Stopwatch, KeepsWhatItHasCountedWhenTheClockJumpsBack) {
    Stopwatch watch;
    while (watch.seconds() < 0.005) {
    }
    const double before = watch.seconds();
    backwards = true;
    EXPECT_EQ(watch.seconds(), before);
    backwards = false;
    EXPECT_GT(watch.seconds(), before);
}

TEST(Interval, HasNoSpeedWithoutTime) {
    EXPECT_EQ(with_means({}, {.tokens = 73508, .seconds = 2}).tokens_per_second, 36754);
    for (const double seconds : {0.0, -3.0}) {
        EXPECT_EQ(with_means({}, {.tokens = 73508, .seconds = seconds}).tokens_per_second, 0);
    }
}

TEST_F(ClockThatRunsBackwards, GivesATrainingNoImpossibleNumbers) {
    const TemporaryFolder folder;
    const TrainingData data = copy_data(60, 10);
    TrainingOptions options = tiny_training();
    options.updates = 12;
    options.log_every = 2;
    nn::Transformer model(tiny_model(data));
    testing::internal::CaptureStderr();
    {
        const RunFolder run(folder / "run", false);
        TrainingLog log(run.log());
        Trainer(model, data, options, log, &run).run();
    }
    const std::string told = testing::internal::GetCapturedStderr();
    EXPECT_NE(told.find("|       ? tokens/s |"), std::string::npos) << told;
    std::ifstream lines(folder / "run" / "log.jsonl");
    int intervals = 0;
    for (std::string line; std::getline(lines, line);) {
        const auto object = nlohmann::json::parse(line);
        for (const char* time : {"seconds", "loading_seconds", "step_seconds", "eta", "tokens_per_second"}) {
            if (!object.contains(time)) continue;
            EXPECT_GE(object[time], 0) << line;
            EXPECT_LT(object[time], 1e7) << line;
        }
        intervals += object["kind"] == "training";
    }
    EXPECT_EQ(intervals, 6);
}

}  // namespace
}  // namespace heddle::app
