// The k best of each row on every device against the f64 reference: the same columns, and their log-probabilities.
#include "kernels/top_k/top_k.h"
#include "tests/devices.h"
#include "tests/support.h"

namespace heddle::kernels {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void expect_the_k_best(const Tensor& logits, std::int64_t k, const Numbers& numbers) {
    const std::string what = std::to_string(k) + " of " + std::to_string(logits.cols()) + " on " + to_string(numbers);
    const TopK got = top_k_log_softmax(logits, k), want = top_k_log_softmax(logits.to(Device::cpu).to(DType::f64), k);
    ASSERT_EQ(got.ids.to(Device::cpu).to_vector(), want.ids.to_vector()) << what;
    const std::vector<double> values = got.values.to(Device::cpu).to_vector(), wanted = want.values.to_vector();
    for (std::size_t i = 0; i < wanted.size(); ++i)
        ASSERT_TRUE(values[i] == wanted[i] || std::abs(values[i] - wanted[i]) <= (numbers.dtype == DType::f64 ? 1e-12 : 1e-5))
            << what;
    expect_same_bits_again(
        [&] {
            const TopK again = top_k_log_softmax(logits, k);
            return std::vector<Tensor>{again.values, again.ids};
        },
        what);
}

TEST(TopKDevice, GivesTheLargestWithTheirLogProbabilities) {
    for (const Numbers& numbers : all_numbers())
        for (const std::int64_t cols : {1, 2, 31, 32, 33, 127, 1025, 3000})
            for (const std::int64_t k : {1, 2, 10})
                if (k <= cols) expect_the_k_best(in(numbers, normal({3, cols}, DType::f64, 4, 0, 3)), k, numbers);
}

TEST(TopKDevice, BreaksTiesByTheColumn) {
    for (const Numbers& numbers : all_numbers())
        for (const std::int64_t cols : {33, 2064}) {
            Tensor logits = Tensor::full({2, cols}, 1, DType::f64);
            for (std::int64_t j = 0; j < cols; j += 7) logits.data<double>()[cols + j] = 2;
            expect_the_k_best(in(numbers, logits), 9, numbers);
        }
}

TEST(TopKDevice, OneThreadMayHoldThemAll) {  // more than it keeps at once: it must look through its columns again
    for (const Numbers& numbers : all_numbers()) {
        const std::int64_t cols = 8 * 2048;
        Tensor logits = normal({1, cols}, DType::f64, 4);
        for (std::int64_t j = 3; j < cols; j += 2048) logits.data<double>()[j] = 20 + static_cast<double>(j % 5);
        for (std::int64_t j = 4096; j < 4104; ++j) logits.data<double>()[j] = 30 - static_cast<double>(j % 3);
        expect_the_k_best(in(numbers, logits), 16, numbers);
    }
}

TEST(TopKDevice, GivesAWholeRowInOrderAndMinusInfinitiesLast) {
    for (const Numbers& numbers : all_numbers()) {
        Tensor logits = normal({2, 40}, DType::f64, 4);
        for (const std::int64_t j : {0, 7, 39, 45}) logits.data<double>()[j] = -kInfinity;
        expect_the_k_best(in(numbers, logits), 40, numbers);
        expect_the_k_best(offset_by_one(in(numbers, logits)), 40, numbers);
        EXPECT_EQ(top_k_log_softmax(Tensor::zeros({0, 5}, numbers.dtype, numbers.device), 2).ids.shape(), Shape({0, 2}));
    }
}

TEST(TopKDevice, LargeVocabulary) {
    for (const Numbers& numbers : all_numbers()) {
        if (numbers.dtype == DType::bf16) continue;  // so many columns hold no distinct bf16 numbers, and ties are tested above
        expect_the_k_best(in(numbers, normal({2, 100001}, DType::f64, 4, 0, 3)), 20, numbers);
    }
}

TEST(TopKDevice, StopsAtARowWithoutADistribution) {
    if (!device::available() || !device::emulated()) GTEST_SKIP() << "ends the context of a real device";
    for (const double bad : {std::nan(""), kInfinity, -kInfinity}) {
        const Tensor logits = Tensor::full({2, 8}, bad, DType::f32).to(Device::cuda);
        expect_error([&] { top_k_log_softmax(logits, 2).values.to(Device::cpu); }, "top_k: a row of logits holds NaN");
    }
}

}  // namespace
}  // namespace heddle::kernels
