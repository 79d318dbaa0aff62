#include "optim/schedule.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support.h"

namespace heddle::optim {
namespace {

TEST(Schedule, ConstantIsConstant) {
    const Schedule schedule{.kind = ScheduleKind::constant, .lr = 0.3, .warmup = 500};
    for (const std::int64_t u : {0, 1, 499, 500, 1000000}) EXPECT_EQ(schedule.rate(u), 0.3);
}

TEST(Schedule, InverseRootRisesInALineAndFallsWithTheRoot) {
    const Schedule schedule{.kind = ScheduleKind::inverse_sqrt, .lr = 3e-3, .warmup = 500};
    for (std::int64_t u = 0; u < 3000; ++u) {
        const auto step = static_cast<double>(u + 1);
        EXPECT_DOUBLE_EQ(schedule.rate(u), 3e-3 * std::min(step / 500, std::sqrt(500 / step))) << u;
    }
    EXPECT_DOUBLE_EQ(schedule.rate(499), 3e-3);
    EXPECT_DOUBLE_EQ(schedule.rate(1999), 1.5e-3);
    EXPECT_LT(schedule.rate(498), schedule.rate(499));
    EXPECT_LT(schedule.rate(500), schedule.rate(499));
}

TEST(Schedule, NoamIsThePapersEquation3) {
    const Schedule schedule{.kind = ScheduleKind::noam, .lr = 1, .warmup = 4000, .d_model = 512};
    for (const std::int64_t u : {0, 1, 100, 3998, 3999, 4000, 99999}) {
        const auto step = static_cast<double>(u + 1);
        EXPECT_DOUBLE_EQ(schedule.rate(u), std::pow(512, -0.5) * std::min(std::pow(step, -0.5), step * std::pow(4000, -1.5)));
    }
    EXPECT_NEAR(schedule.rate(3999), 6.98771e-4, 1e-9);  // 1 / sqrt(512 4000)
}

TEST(Schedule, NoamIsInverseRootWithItsPeakHidden) {
    const Schedule noam{.kind = ScheduleKind::noam, .lr = 2, .warmup = 300, .d_model = 128};
    const Schedule root{.kind = ScheduleKind::inverse_sqrt, .lr = 2 / std::sqrt(128.0 * 300), .warmup = 300};
    for (std::int64_t u = 0; u < 2000; ++u) EXPECT_NEAR(noam.rate(u), root.rate(u), 1e-15) << u;
}

TEST(Schedule, CosineWarmsUpAndEndsOnItsFloor) {
    const Schedule schedule{.kind = ScheduleKind::cosine, .lr = 0.1, .warmup = 10, .total = 110, .floor = 0.01};
    for (std::int64_t u = 0; u < 10; ++u) EXPECT_DOUBLE_EQ(schedule.rate(u), 0.1 * static_cast<double>(u + 1) / 10);
    EXPECT_DOUBLE_EQ(schedule.rate(10), 0.1);
    EXPECT_NEAR(schedule.rate(60), 0.055, 1e-15);
    EXPECT_NEAR(schedule.rate(35), 0.01 + 0.09 * (1 + std::sqrt(0.5)) / 2, 1e-15);
    EXPECT_NEAR(schedule.rate(110), 0.01, 1e-15);
    EXPECT_NEAR(schedule.rate(5000), 0.01, 1e-15);
    for (std::int64_t u = 10; u < 110; ++u) EXPECT_GT(schedule.rate(u), schedule.rate(u + 1));
}

TEST(Schedule, WorksWithoutWarmUp) {
    EXPECT_EQ((Schedule{.kind = ScheduleKind::inverse_sqrt, .lr = 0.1, .warmup = 0}.rate(0)), 0.1);
    EXPECT_EQ((Schedule{.kind = ScheduleKind::noam, .lr = 0.1, .warmup = 0, .d_model = 1}.rate(0)), 0.1);
    EXPECT_EQ((Schedule{.kind = ScheduleKind::cosine, .lr = 0.1, .warmup = 0, .total = 5}.rate(0)), 0.1);
}

TEST(Schedule, NamesWhatDoesNotFit) {
    expect_error([] { Schedule{}.rate(-1); }, "schedule: update -1");
    expect_error([] { Schedule{.warmup = -1}.rate(0); }, "schedule: a warm-up of -1");
    expect_error([] { Schedule{.lr = std::nan("")}.rate(0); }, "schedule: a learning rate of nan");
    expect_error([] { Schedule{.kind = ScheduleKind::noam}.rate(0); }, "schedule: noam needs the model's width");
    expect_error([] { Schedule{.kind = ScheduleKind::cosine, .warmup = 10, .total = 10}.rate(0); },
                 "schedule: cosine ends at update 10, wanted one after the warm-up of 10");
}

TEST(Schedule, HasAWordForEachKind) {
    EXPECT_EQ(value_of<ScheduleKind>("linear"), std::nullopt);
    EXPECT_EQ(value_of<ScheduleKind>("inverse-sqrt"), ScheduleKind::inverse_sqrt);
    for (const auto kind : {ScheduleKind::constant, ScheduleKind::inverse_sqrt, ScheduleKind::noam, ScheduleKind::cosine})
        EXPECT_EQ(value_of<ScheduleKind>(word_of(kind)), kind);
}

}  // namespace
}  // namespace heddle::optim
