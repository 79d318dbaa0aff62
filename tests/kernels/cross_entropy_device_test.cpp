// Cross entropy on every device against the f64 reference.
#include "kernels/cross_entropy/cross_entropy.h"
#include "kernels/cross_entropy/cross_entropy_cuda.h"
#include "tests/devices.h"
#include "tests/support.h"

namespace heddle::kernels {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Case {
    std::int64_t rows, vocabulary;
    LossOptions options;
};
const Case kCases[] = {{1, 1, {}},
                       {0, 8, {.label_smoothing = 0.1}},
                       {33, 31, {.label_smoothing = 0.1}},
                       {5, 32, {.divisor = 7}},
                       {40, 127, {.label_smoothing = 0.2, .ignore = 3}},
                       {3, 1025, {.label_smoothing = 0.1}},
                       {2, 1032, {.label_smoothing = 0.1}},
                       {4, 4096, {}}};

std::string text(const Case& one) { return std::to_string(one.rows) + " x " + std::to_string(one.vocabulary); }

// Every fifth target is ignored, others are anywhere.
Tensor targets_of(const Case& one) {
    Sequence random(11);
    std::vector<std::int32_t> ids;
    for (std::int64_t i = 0; i < one.rows; ++i)
        ids.push_back(i % 5 == 4 ? one.options.ignore
                                 : static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(one.vocabulary))));
    return Tensor::from(ids, {one.rows});
}

// Logits with the largest one twice in each row, so that the first of them must win.
Tensor logits_of(const Case& one) {
    Tensor logits = normal({one.rows, one.vocabulary}, DType::f64, 4, 1, 3);
    for (std::int64_t row = 0; row < one.rows; ++row) {
        double* x = logits.data<double>() + row * one.vocabulary;
        const std::int64_t at = std::max_element(x, x + one.vocabulary) - x;
        x[(at + one.vocabulary / 2) % one.vocabulary] = x[at];
    }
    return logits;
}

void expect_like_the_reference(const Tensor& logits, const Tensor& targets, const Case& one, const Numbers& numbers,
                               const Allowed& allowed) {
    const Tensor exact = logits.to(Device::cpu).to(DType::f64), there = targets.to(numbers.device);
    const CrossEntropyResult got = cross_entropy_forward(logits, there, one.options);
    const CrossEntropyResult want = cross_entropy_forward(exact, targets, one.options);
    expect_close(got.loss, want.loss, numbers, "loss of " + text(one), allowed);
    EXPECT_EQ(got.statistics.device(), numbers.device);
    const LossStatistics counts = loss_statistics(got.statistics), wanted = loss_statistics(want.statistics);
    const double close = numbers.dtype == DType::f64 ? 1e-13 : 1e-5;  // in bf16, too: a row's loss is f32 arithmetic
    EXPECT_NEAR(counts.loss, wanted.loss, close * std::abs(wanted.loss)) << text(one) << " on " << to_string(numbers);
    EXPECT_NEAR(counts.nll, wanted.nll, close * std::abs(wanted.nll)) << text(one) << " on " << to_string(numbers);
    EXPECT_EQ(counts.counted, wanted.counted) << text(one);
    EXPECT_EQ(counts.correct, wanted.correct) << text(one);
    const Tensor dloss = Tensor::full({}, 1.75, numbers.dtype, numbers.device);
    expect_close(cross_entropy_backward(dloss, logits, there, one.options),
                 cross_entropy_backward(Tensor::full({}, 1.75, DType::f64), exact, targets, one.options), numbers,
                 "gradient of " + text(one), allowed);
    expect_same_bits_again(
        [&] {
            const CrossEntropyResult again = cross_entropy_forward(logits, there, one.options);
            return std::vector<Tensor>{again.loss, again.statistics, cross_entropy_backward(dloss, logits, there, one.options)};
        },
        text(one));
}

TEST(CrossEntropyDevice, ForwardAndBackwardAreTheFormulas) {
    for (const Numbers& numbers : all_numbers())
        for (const Case& one : kCases)
            expect_like_the_reference(in(numbers, logits_of(one)), targets_of(one), one, numbers, {.f64 = 1e-13, .f32 = 3e-6});
}

TEST(CrossEntropyDevice, TakesRowsThatAreNotAligned) {
    for (const Numbers& numbers : all_numbers())
        for (const std::int64_t vocabulary : {64, 1032}) {
            const Case one{3, vocabulary, {.label_smoothing = 0.1}};
            expect_like_the_reference(offset_by_one(in(numbers, logits_of(one))), targets_of(one), one, numbers,
                                      {.f64 = 1e-13, .f32 = 3e-6});
        }
}

TEST(CrossEntropyDevice, LargeRowsAreReadAgain) {
    for (const Numbers& numbers : all_numbers())
        for (const std::int64_t vocabulary : {32768, 100001}) {
            const Case one{2, vocabulary, {.label_smoothing = 0.1}};
            expect_like_the_reference(in(numbers, logits_of(one)), targets_of(one), one, numbers, {.f64 = 1e-12, .f32 = 1e-5});
        }
}

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
                logits.data<double>()[target] = std::nan("");
                const Tensor targets = Tensor::from(std::vector<std::int32_t>{target}, {1});
                const LossStatistics got =
                    loss_statistics(cross_entropy_forward(in(numbers, logits), targets.to(numbers.device), {}).statistics);
                EXPECT_EQ(got.counted, 1);
                EXPECT_TRUE(std::isnan(got.loss)) << to_string(numbers);
                EXPECT_EQ(got.correct, 0) << to_string(numbers) << ", target " << target << " of " << vocabulary;
            }
}

TEST(CrossEntropyDevice, GivesZerosWhenEveryTargetIsIgnored) {
    for (const Numbers& numbers : all_numbers()) {
        const Tensor logits = in(numbers, normal({3, 40}, DType::f64, 1)),
                     targets = Tensor::full({3}, -1, DType::i32).to(numbers.device);
        const CrossEntropyResult result = cross_entropy_forward(logits, targets, {.label_smoothing = 0.1});
        EXPECT_EQ(result.loss.to(Device::cpu).item(), 0);
        EXPECT_EQ(loss_statistics(result.statistics).counted, 0);
        for (const double g : cross_entropy_backward(Tensor::full({}, 1, numbers.dtype, numbers.device), logits, targets, {})
                                  .to(Device::cpu)
                                  .to_vector())
            EXPECT_EQ(g, 0);
    }
}

TEST(CrossEntropyDevice, TheGradientMayTakeTheLogitsPlace) {
    for (const Numbers& numbers : all_numbers()) {
        if (numbers.device != Device::cuda) continue;
        for (const std::int64_t vocabulary : {40, 1032, 30000}) {
            const Case one{3, vocabulary, {.label_smoothing = 0.1}};
            const Tensor logits = in(numbers, logits_of(one)), targets = targets_of(one).to(Device::cuda);
            const Tensor want =
                cross_entropy_backward(Tensor::full({}, 1, numbers.dtype, Device::cuda), logits, targets, one.options);
            const Tensor divisor = loss_divisor_cuda(targets, vocabulary, one.options),
                         losses = Tensor::empty({3, 3}, DType::f64, Device::cuda);
            cross_entropy_rows_cuda(logits, targets, one.options, divisor, {}, losses, logits);
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
