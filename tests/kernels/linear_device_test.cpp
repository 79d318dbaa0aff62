// Sums for the gradients of biases, several in a launch.
#include <gtest/gtest.h>

#include "kernels/linear/linear.h"
#include "tests/devices.h"
#include "tests/support.h"

namespace heddle {
namespace {

using kernels::BiasSums;

// 128 rows make a part: several parts, the last one short, and widths that vectors do and do not fit.
struct Rows {
    std::int64_t rows, cols;
};
constexpr Rows kAll[] = {{1, 8}, {127, 33}, {128, 64}, {129, 5}, {700, 300}, {300, 1025}, {0, 7}};

Tensor rows_of(const Rows& at, const Numbers& numbers, std::uint64_t seed) {
    return normal({at.rows, at.cols}, DType::f32, seed).to(numbers.dtype).to(numbers.device);
}
DType sum_dtype(const Numbers& numbers, bool wide) { return wide && numbers.dtype == DType::bf16 ? DType::f32 : numbers.dtype; }

TEST(BiasSums, AreTheSumsOfTheColumnsAddedToWhatIsThere) {
    for (const Numbers& numbers : all_numbers())
        for (const bool wide : {false, true}) {
            const BiasSums scope;
            std::vector<Tensor> rows, biases;
            std::uint64_t seed = 0;
            for (const Rows& at : kAll) {
                rows.push_back(rows_of(at, numbers, ++seed));
                biases.push_back(Tensor::full({at.cols}, 2, sum_dtype(numbers, wide), numbers.device));
                BiasSums::add(rows.back(), biases.back());
            }
            BiasSums::flush();
            for (std::size_t n = 0; n < rows.size(); ++n) {
                const std::vector<double> x = rows[n].to_vector(), got = biases[n].to_vector();
                for (std::size_t j = 0; j < got.size(); ++j) {
                    double want = 2, size = 2;
                    for (std::size_t i = j; i < x.size(); i += got.size()) want += x[i], size += std::abs(x[i]);
                    // Chains of up to 256 sums, and for a bf16 bias one rounding more.
                    const double part = numbers.dtype == DType::f64 ? 1e-13 : biases[n].dtype() == DType::bf16 ? 1.0 / 256 : 2e-5;
                    ASSERT_TRUE(std::abs(got[j] - want) <= part * size)
                        << to_string(numbers) << ", " << rows[n].rows() << " x " << got.size() << ", column " << j;
                }
            }
        }
}

TEST(BiasSums, HaveTheSameBitsAloneAndInCompany) {
    for (const Numbers& numbers : all_numbers()) {
        const BiasSums scope;
        std::vector<Tensor> together, alone;
        std::uint64_t seed = 10;
        for (int round = 0; round < 4; ++round)  // more than one launch takes
            for (const Rows& at : kAll) {
                const Tensor rows = rows_of(at, numbers, ++seed);
                together.push_back(Tensor::zeros({at.cols}, sum_dtype(numbers, true), numbers.device));
                alone.push_back(together.back().clone());
                BiasSums::add(rows, together.back());
                kernels::linear_backward_bias(rows, alone.back());
            }
        BiasSums::flush();
        for (std::size_t n = 0; n < alone.size(); ++n)
            EXPECT_TRUE(same_bits(together[n].to(Device::cpu), alone[n].to(Device::cpu))) << to_string(numbers) << ", sum " << n;
    }
}

TEST(BiasSums, OfOneBiasAreAddedOneAfterTheOther) {
    for (const Numbers& numbers : all_numbers()) {
        const Tensor first = rows_of({200, 40}, numbers, 1), second = rows_of({300, 40}, numbers, 2);
        Tensor want = Tensor::zeros({40}, sum_dtype(numbers, true), numbers.device);
        const Tensor got = want.clone();
        kernels::linear_backward_bias(first, want);
        kernels::linear_backward_bias(second, want);
        const BiasSums scope;
        BiasSums::add(first, got);
        EXPECT_EQ(BiasSums::pending(got), numbers.device == Device::cuda);
        EXPECT_EQ(BiasSums::pending(got.slice(39, 40)), numbers.device == Device::cuda);
        EXPECT_FALSE(BiasSums::pending(first));
        BiasSums::add(second, got);
        BiasSums::flush();
        EXPECT_FALSE(BiasSums::pending(got));
        EXPECT_TRUE(same_bits(got.to(Device::cpu), want.to(Device::cpu))) << to_string(numbers);
    }
}

TEST(BiasSums, AreMadeOnceThereAreAsManyAsALaunchTakes) {
    for (const Numbers& numbers : all_numbers()) {
        if (numbers.device == Device::cpu) continue;
        const BiasSums scope;
        std::vector<Tensor> biases;
        for (int n = 1; n <= 16; ++n) {
            biases.push_back(Tensor::zeros({8}, numbers.dtype, numbers.device));
            BiasSums::add(rows_of({3, 8}, numbers, 1), biases.back());
            EXPECT_EQ(BiasSums::pending(biases.front()), n < 16) << n;
        }
    }
}

TEST(BiasSums, WaitOnlyForTheInnermostScopeThatExists) {
    for (const Numbers& numbers : all_numbers()) {
        if (numbers.device == Device::cpu) continue;
        const Tensor rows = rows_of({9, 8}, numbers, 1);
        const auto bias = [&] { return Tensor::zeros({8}, numbers.dtype, numbers.device); };
        const Tensor alone = bias(), outside = bias(), inside = bias();
        BiasSums::add(rows, alone);
        EXPECT_FALSE(BiasSums::exists());
        EXPECT_NE(alone.to_vector(), std::vector<double>(8, 0));
        const BiasSums outer;
        BiasSums::add(rows, outside);
        {
            const BiasSums inner;
            BiasSums::add(rows, inside);
            BiasSums::flush();
        }
        EXPECT_TRUE(BiasSums::exists() && BiasSums::pending(outside));
        EXPECT_EQ(inside.to_vector(), alone.to_vector());
        EXPECT_EQ(outside.to_vector(), std::vector<double>(8, 0));
        BiasSums::before_use_of(inside);
        EXPECT_TRUE(BiasSums::pending(outside));
        BiasSums::before_use_of(outside);
        EXPECT_EQ(outside.to_vector(), alone.to_vector());
    }
}

TEST(BiasSums, ThatNobodyMakesAreDropped) {
    for (const Numbers& numbers : all_numbers()) {
        if (numbers.device == Device::cpu) continue;
        const Tensor bias = Tensor::zeros({8}, numbers.dtype, numbers.device);
        const BiasSums outer;
        {
            const BiasSums inner;
            BiasSums::add(rows_of({9, 8}, numbers, 1), bias);
        }
        BiasSums::flush();
        EXPECT_EQ(bias.to_vector(), std::vector<double>(8, 0));
    }
}

}  // namespace
}  // namespace heddle
