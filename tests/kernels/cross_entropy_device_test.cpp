// Cross entropy on every device: extreme logits, and the gradient in the place of the logits.
#include "kernels/cross_entropy/cross_entropy.h"
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

}  // namespace
}  // namespace heddle::kernels
