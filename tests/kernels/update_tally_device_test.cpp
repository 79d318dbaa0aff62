#include <limits>

#include "kernels/update_tally/update_tally.h"
#include "tests/devices.h"
#include "tests/support.h"

namespace heddle::kernels {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

Tensor numbers(const std::vector<double>& values, Device device) {
    return Tensor::from(values, {static_cast<std::int64_t>(values.size())}).to(device);
}

// An update of batches with these losses and a gradient of this norm; the norm that the update's kernel gets to see.
double update(Tensor& tally, const std::vector<double>& losses, double norm) {
    for (const double loss : losses) tally_losses(tally, numbers({loss, loss / 2, 3, 1}, tally.device()));
    Tensor measured = numbers({norm, 0.5}, tally.device());
    tally_update(tally, measured);
    const std::vector<double> after = measured.to_vector();
    EXPECT_EQ(after[1], 0.5) << "the factor is not touched";
    return after[0];
}

TEST(UpdateTallyDevice, AddsUpBatchesAndUpdates) {
    for (const Device device : all_devices()) {
        Tensor tally = empty_tally(device);
        EXPECT_EQ(read_tally(tally).updates, 0);
        EXPECT_EQ(update(tally, {0.1, 0.2}, 7), 7);
        EXPECT_EQ(update(tally, {0.3, 1e9, 0.7}, 5), 5);
        const UpdateTally read = read_tally(tally);
        EXPECT_EQ(read.losses.loss, (0.1 + 0.2) + ((0.3 + 1e9) + 0.7)) << "batch by batch, then update by update";
        EXPECT_EQ(read.losses.counted, 15);
        EXPECT_EQ(read.losses.correct, 5);
        EXPECT_EQ(read.gradient_norm, 5);
        EXPECT_EQ(read.updates, 2);
        EXPECT_FALSE(read.failed);
    }
}

TEST(UpdateTallyDevice, LeavesOutTheFirstBadUpdateAndAllThatFollow) {
    struct Bad {
        std::vector<double> losses;
        double norm, loss_told, norm_told;
    };
    const Bad bad[] = {
        {{4}, kNan, 4, kNan}, {{4}, kInf, 4, kInf}, {{1, kInf, -kInf, kNan}, 2, kInf, 2}, {{kNan}, kInf, kNan, kInf}};
    const auto same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
    for (const Device device : all_devices())
        for (const Bad& one : bad) {
            Tensor tally = empty_tally(device);
            EXPECT_EQ(update(tally, {3}, 6), 6);
            EXPECT_TRUE(std::isnan(update(tally, one.losses, one.norm)));
            EXPECT_TRUE(std::isnan(update(tally, {1}, 1))) << "a good one that nobody may make any more";
            EXPECT_TRUE(std::isnan(update(tally, {kInf}, 1)));
            const UpdateTally read = read_tally(tally);
            EXPECT_TRUE(read.failed);
            EXPECT_EQ(read.updates, 1);
            EXPECT_EQ(read.losses.loss, 3);
            EXPECT_EQ(read.losses.counted, 3);
            EXPECT_EQ(read.gradient_norm, 6);
            EXPECT_TRUE(same(read.failed_loss, one.loss_told)) << read.failed_loss;
            EXPECT_TRUE(same(read.failed_norm, one.norm_told)) << read.failed_norm;
            tally.fill_(0);
            EXPECT_EQ(update(tally, {2}, 1), 1) << "an emptied tally counts again";
        }
}

TEST(UpdateTallyDevice, NeverWaits) {
    if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    Tensor tally = empty_tally(Device::cuda), measured = numbers({1, 1}, Device::cuda);
    const Tensor statistics = numbers({1, 1, 1, 1}, Device::cuda);
    const device::Statistics before = device::statistics();
    tally_losses(tally, statistics);
    tally_update(tally, measured);
    EXPECT_EQ(device::statistics().synchronisations, before.synchronisations);
    EXPECT_EQ(device::statistics().copies_to_host, before.copies_to_host);
    EXPECT_EQ(read_tally(tally).updates, 1);
}

TEST(UpdateTallyDevice, RefusesOtherShapes) {
    Tensor tally = empty_tally(Device::cpu), three = Tensor::zeros({3}, DType::f64);
    expect_error([&] { tally_losses(tally, three); }, "tally_losses: statistics has shape [3]");
    expect_error([&] { tally_update(tally, three); }, "tally_update: measured has shape [3]");
    expect_error([&] { read_tally(three); }, "read_tally: tally has shape [3]");
}

}  // namespace
}  // namespace heddle::kernels
