// The log-probability of each row's target on every device against plain loops in f64.
#include "kernels/target_log_probability/target_log_probability.h"

#include "kernels/top_k/top_k.h"
#include "tests/devices.h"
#include "tests/support.h"

namespace heddle::kernels {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double log_probability(const std::vector<double>& logits, std::int64_t vocabulary, std::int64_t row, std::int32_t target) {
    const double* x = logits.data() + row * vocabulary;
    const double most = *std::max_element(x, x + vocabulary);
    double sum = 0;
    for (std::int64_t j = 0; j < vocabulary; ++j) sum += std::exp(x[j] - most);
    return x[target] - most - std::log(sum);
}

Tensor targets_of(std::int64_t rows, std::int64_t vocabulary) {
    std::vector<std::int32_t> targets;
    for (std::int64_t i = 0; i < rows; ++i) targets.push_back(static_cast<std::int32_t>((7 * i + vocabulary - 1) % vocabulary));
    return Tensor::from(targets, {rows});
}

void expect_log_probabilities(const Tensor& logits, const Tensor& targets, const Numbers& numbers) {
    const std::int64_t rows = logits.rows(), vocabulary = logits.cols();
    const std::string what = std::to_string(rows) + " rows of " + std::to_string(vocabulary) + " on " + to_string(numbers);
    const Tensor at = targets.to(numbers.device);
    const Tensor got = target_log_probability(logits, at);
    ASSERT_EQ(got.shape(), Shape({rows})) << what;
    ASSERT_EQ(got.device(), numbers.device) << what;
    ASSERT_EQ(got.dtype(), DType::f64) << what;
    const std::vector<double> given = got.to_vector(), all = logits.to_vector();
    for (std::int64_t i = 0; i < rows; ++i) {
        const double wanted = log_probability(all, vocabulary, i, targets.data<std::int32_t>()[i]);
        const double value = given[static_cast<std::size_t>(i)];
        // f32: the sum of exponentials is right to about 2^-20, and so is its logarithm, absolutely.
        ASSERT_TRUE(value == wanted || std::abs(value - wanted) <= (numbers.dtype == DType::f64 ? 1e-12 : 1e-5))
            << what << ": row " << i << " is " << value << ", wanted " << wanted;
    }
    expect_same_bits_again([&] { return std::vector<Tensor>{target_log_probability(logits, at)}; }, what);
}

TEST(TargetLogProbabilityDevice, IsThatOfTheLogSoftmax) {
    for (const Numbers& numbers : all_numbers())
        for (const std::int64_t vocabulary : {1, 2, 31, 32, 33, 127, 1024, 1025, 3000}) {
            const Tensor logits = in(numbers, normal({5, vocabulary}, DType::f64, 4, 0, 3));
            expect_log_probabilities(logits, targets_of(5, vocabulary), numbers);
            expect_log_probabilities(offset_by_one(logits), targets_of(5, vocabulary), numbers);
        }
}

TEST(TargetLogProbabilityDevice, TakesExtremeLogitsAndNoRows) {
    for (const Numbers& numbers : all_numbers()) {
        Tensor logits = normal({3, 40}, DType::f64, 4);
        logits.data<double>()[3] = 1e4;
        logits.data<double>()[7] = -1e4;
        for (std::int64_t j = 40; j < 80; ++j)
            if (j != 52) logits.data<double>()[j] = -kInfinity;
        for (const std::int32_t target : {3, 7, 12, 39})
            expect_log_probabilities(in(numbers, logits), Tensor::from(std::vector<std::int32_t>{target, 12, target}, {3}),
                                     numbers);
        expect_log_probabilities(in(numbers, logits), Tensor::from(std::vector<std::int32_t>{0, 13, 0}, {3}), numbers);  // -inf
        expect_log_probabilities(Tensor::zeros({0, 5}, numbers.dtype, numbers.device), targets_of(0, 5), numbers);
    }
}

TEST(TargetLogProbabilityDevice, LargeVocabulary) {
    for (const Numbers& numbers : all_numbers())
        expect_log_probabilities(in(numbers, normal({2, 100001}, DType::f64, 4, 0, 3)), targets_of(2, 100001), numbers);
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

}  // namespace
}  // namespace heddle::kernels
