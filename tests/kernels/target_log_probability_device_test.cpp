// The log-probability of each row's target: beside top_k, and errors on every device.
#include "kernels/target_log_probability/target_log_probability.h"

#include "kernels/top_k/top_k.h"
#include "tests/devices.h"
#include "tests/support.h"

namespace heddle::kernels {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// On the CPU in f32: scoring what a search found gives the search's own numbers.
TEST(TargetLogProbabilityDevice, OfTheBestTokenIsWhatTopKSays) {
    const Tensor logits = normal({4, 300}, DType::f32, 9, 0, 3);
    const TopK best = top_k_log_softmax(logits, 1);
    EXPECT_EQ(target_log_probability(logits, best.ids.reshape({4})).to_vector(), best.values.to_vector());
}

TEST(TargetLogProbabilityDevice, WrongUseIsAnError) {
    const Tensor logits = normal({2, 8}, DType::f32, 1);
    const auto with = [&](const Tensor& x, const std::vector<std::int32_t>& targets) {
        return [&x, targets] { target_log_probability(x, Tensor::from(targets, {static_cast<std::int64_t>(targets.size())})); };
    };
    expect_error(with(logits, {1}), "targets has shape [1], wanted [2]");
    expect_error(with(logits, {1, 8}), "targets[1] is 8, but logits [2, 8] have 8 columns");
    expect_error(with(logits, {-1, 0}), "targets[0] is -1");
    expect_error(with(Tensor::full({2, 8}, std::nan(""), DType::f32), {1, 1}), "holds NaN");
}

TEST(TargetLogProbabilityDevice, StopsAtARowWithoutADistributionAndAtATargetOutside) {
    if (!device::available() || !device::emulated()) GTEST_SKIP() << "ends the context of a real device";
    const auto stops = [](double value, std::int32_t target, const char* words) {
        const Tensor logits = Tensor::full({2, 8}, value, DType::f32).to(Device::cuda);
        const Tensor targets = Tensor::full({2}, target, DType::i32).to(Device::cuda);
        expect_error([&] { target_log_probability(logits, targets).to_vector(); }, words);
    };
    for (const double bad : {std::nan(""), kInfinity, -kInfinity}) stops(bad, 2, "a row of logits holds NaN");
    for (const std::int32_t target : {-1, 8}) stops(1, target, "a target lies outside the vocabulary");
}

}  // namespace
}  // namespace heddle::kernels
