// Ops of rows of logits on every device. Cross entropy: extreme logits, and the gradient in the place of the logits. The
// log-probability of each row's target: beside top_k, and errors. The mean of several models' probabilities: equal models, and
// errors.
#include "kernels/cross_entropy/cross_entropy.h"
#include "kernels/mean_probability/mean_probability.h"
#include "kernels/target_log_probability/target_log_probability.h"
#include "kernels/top_k/top_k.h"
#include "tests/devices.h"
#include "tests/support.h"

namespace heddle::kernels {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(CrossEntropyDevice, IsSafeForHugeLogitsAndInfinities) {
    for (const Numbers& numbers : all_numbers())
        for (const double smoothing : {0.0, 0.1})
            for (const std::int32_t target : {0, 1, 2}) {
                const Tensor logits = Tensor::from(std::vector<double>{1e4, -1e4, -kInfinity, 0}, {1, 4});
                const Tensor targets = Tensor::from(std::vector<std::int32_t>{target}, {1});
                const LossOptions options{.label_smoothing = smoothing};
                const double want =
                    loss_statistics(cross_entropy_forward(rounded(numbers, logits), targets, options).statistics).loss;
                const double got =
                    loss_statistics(cross_entropy_forward(in(numbers, logits), targets.to(numbers.device), options).statistics)
                        .loss;
                EXPECT_TRUE(got == want || std::abs(got - want) <= 1e-5 * std::abs(want)) << got << ", wanted " << want;
            }
}

TEST(CrossEntropyDevice, CallsNoRowCorrectWhoseTargetIsNaN) {
    for (const Numbers& numbers : all_numbers())
        for (const std::int64_t vocabulary : {1, 40, 1032})
            for (const std::int32_t target : {0, static_cast<std::int32_t>(vocabulary - 1)}) {
                Tensor logits = normal({1, vocabulary}, DType::f64, 1);
                logits.mutable_data<double>()[target] = std::nan("");
                const Tensor targets = Tensor::from(std::vector<std::int32_t>{target}, {1});
                const LossStatistics got =
                    loss_statistics(cross_entropy_forward(in(numbers, logits), targets.to(numbers.device), {}).statistics);
                EXPECT_EQ(got.counted, 1);
                EXPECT_TRUE(std::isnan(got.loss)) << to_string(numbers);
                EXPECT_EQ(got.correct, 0) << to_string(numbers) << ", target " << target << " of " << vocabulary;
            }
}

TEST(CrossEntropyDevice, TheGradientMayTakeTheLogitsPlace) {
    for (const Numbers& numbers : all_numbers()) {
        if (numbers.device != Device::cuda) continue;
        for (const std::int64_t vocabulary : {40, 1032, 30000}) {
            const LossOptions options{.label_smoothing = 0.1};
            const Tensor logits = in(numbers, normal({3, vocabulary}, DType::f64, 4, 1, 3)),
                         targets = Tensor::from(std::vector<std::int32_t>{7, -1, 39}, {3}).to(Device::cuda);
            const Tensor want =
                cross_entropy_backward(Tensor::full({}, 1, numbers.dtype, Device::cuda), logits, targets, options);
            const Tensor divisor = loss_divisor_cuda(targets, vocabulary, options),
                         losses = Tensor::empty({3, 3}, DType::f64, Device::cuda);
            cross_entropy_rows_cuda(logits, targets, options, divisor, {}, losses, logits);
            EXPECT_TRUE(same_bits(logits.to(Device::cpu), want.to(Device::cpu))) << vocabulary;
        }
    }
}

TEST(CrossEntropyDevice, StopsAtATargetOutsideTheVocabulary) {
    if (!device::emulated()) GTEST_SKIP() << "ends the context of a real device";
    const Tensor logits = Tensor::zeros({2, 10}, DType::f32, Device::cuda);
    const Tensor targets = Tensor::from(std::vector<std::int32_t>{1, 10}, {2}).to(Device::cuda);
    expect_error([&] { cross_entropy_forward(logits, targets, {}).loss.item(); },
                 "cross_entropy: a target lies outside the vocabulary");
}

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

TEST(MeanProbabilityDevice, OfEqualModelsIsTheFirst) {
    for (const Numbers& numbers : all_numbers()) {
        Tensor logits = normal({3, 65}, DType::f64, 2, 0, 9);
        logits.mutable_data<double>()[5] = -kInfinity;
        logits.mutable_data<double>()[70] = 90;
        const Tensor one = in(numbers, logits);
        for (const std::size_t models : {1, 2, 3, 7})
            EXPECT_TRUE(same_bits(mean_probability(std::vector<Tensor>(models, one)).to(Device::cpu), one.to(Device::cpu)))
                << models << " on " << to_string(numbers);
    }
}

TEST(MeanProbabilityDevice, WrongUseIsAnError) {
    const Tensor logits = normal({2, 8}, DType::f32, 1);
    expect_error([] { mean_probability({}); }, "no model's logits");
    expect_error(
        [&] {
            mean_probability(std::vector<Tensor>{logits, normal({2, 7}, DType::f32, 1)});
        },
        "logits[1] has shape [2, 7], wanted [2, 8]");
    const Tensor broken = Tensor::full({2, 8}, std::nan(""), DType::f32);
    expect_error([&] { mean_probability(std::vector<Tensor>{logits, broken}); }, "holds NaN");
    if (!device::available() || !device::emulated()) return;  // it ends the context of a real device
    const std::vector<Tensor> there{logits.to(Device::cuda), broken.to(Device::cuda)};
    expect_error([&] { mean_probability(there).to(Device::cpu); }, "mean_probability: a row of logits holds NaN");
}

}  // namespace
}  // namespace heddle::kernels
