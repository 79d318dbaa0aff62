#include "kernels/softmax/softmax.h"

#include "autograd/ops.h"
#include "autograd/proofs.h"
#include "tests/kernels/softmax_cases.h"
#include "tests/support.h"

namespace heddle::kernels {
namespace {

const std::int64_t kWidths[] = {1, 2, 31, 32, 33, 127, 1025};

// The formula in plain loops; `attends` of x's shape.
std::vector<double> formula(const Tensor& x, const std::vector<bool>& attends) {
    const std::vector<double> values = x.to_vector();
    std::vector<double> y(values.size(), 0.0);
    for (std::int64_t row = 0; row < x.rows(); ++row) {
        const auto begin = static_cast<std::size_t>(row * x.cols()), end = begin + static_cast<std::size_t>(x.cols());
        double largest = -kInfinity, total = 0;
        for (std::size_t i = begin; i < end; ++i)
            if (attends[i]) largest = std::max(largest, values[i]);
        if (largest == -kInfinity) continue;
        for (std::size_t i = begin; i < end; ++i)
            if (attends[i]) total += std::exp(values[i] - largest);
        for (std::size_t i = begin; i < end; ++i)
            if (attends[i]) y[i] = std::exp(values[i] - largest) / total;
    }
    return y;
}

TEST(Softmax, EqualsTheFormulaWithEveryKindOfMask) {
    for (const std::int64_t cols : kWidths) {
        const Tensor x = normal({2, 3, cols}, DType::f32, 5, 0, 3);
        for (const Tensor& mask : {Tensor(), random_mask({2, 3, cols}, 7), random_mask({3, cols}, 8)}) {
            std::vector<bool> attends;
            for (std::int64_t i = 0; i < x.numel(); ++i)
                attends.push_back(!mask.defined() || mask.data<std::uint8_t>()[i % mask.numel()] != 0);
            const Tensor wanted = Tensor::from(formula(x, attends), x.shape());
            EXPECT_LT(relative_error(softmax_forward(x, mask), wanted), 1e-6) << cols;
            EXPECT_LT(relative_error(softmax_forward(x.to(DType::f64), mask), wanted), 1e-14) << cols;
        }
    }
}

TEST(Softmax, LengthsAndTheCausalRuleAreTheMaskTheyStandFor) {
    const Tensor lengths = Tensor::from(std::vector<std::int32_t>{0, 5, 9}, {3});
    for (const std::int64_t queries : {2, 5, 9})
        for (const bool causal : {false, true})
            for (const bool with_lengths : {false, true})
                for (const Tensor& mask : {Tensor(), random_mask({queries, 7}, 8)}) {
                    const Tensor x = normal({3, 2, queries, 7}, DType::f64, 5, 0, 3);
                    Tensor whole = Tensor::empty(x.shape(), DType::u8);
                    for (std::int64_t i = 0; i < x.numel(); ++i) {
                        const std::int64_t item = i / (2 * queries * 7), query = i / 7 % queries, key = i % 7;
                        const bool allowed = (!mask.defined() || mask.data<std::uint8_t>()[i % mask.numel()] != 0) &&
                                             (!causal || key <= query + 7 - queries) &&
                                             (!with_lengths || key < lengths.data<std::int32_t>()[item]);
                        whole.data<std::uint8_t>()[i] = allowed ? 1 : 0;
                    }
                    const SoftmaxReach reach{.lengths = with_lengths ? lengths : Tensor(), .causal = causal};
                    EXPECT_TRUE(same_bits(softmax_forward(x, mask, reach), softmax_forward(x, whole)));
                }
    expect_error([] { softmax_forward(Tensor::zeros({4}, DType::f32), {}, {.causal = true}); }, "wanted at least two axes");
    expect_error(
        [&] {
            softmax_forward(Tensor::zeros({2, 4}, DType::f32), {}, {.lengths = lengths});
        },
        "lengths has shape [3], wanted [2]");
}

TEST(Softmax, RowsAddUpToOneAndMaskedPlacesAreExactlyZero) {
    const Tensor x = normal({6, 40}, DType::f32, 5, 0, 3), mask = random_mask({6, 40}, 9);
    const Tensor y = softmax_forward(x, mask);
    for (std::int64_t row = 0; row < 6; ++row) {
        double total = 0;
        for (std::int64_t i = row * 40; i < row * 40 + 40; ++i) {
            total += y.data<float>()[i];
            EXPECT_TRUE(mask.data<std::uint8_t>()[i] != 0 || y.data<float>()[i] == 0);
        }
        EXPECT_NEAR(total, row == 1 ? 0 : 1, 1e-6);
    }
}

TEST(Softmax, GivesZerosAndZeroGradientsWhereNothingAttends) {
    const Tensor mask = Tensor::zeros({2, 5}, DType::u8);
    Variable x(normal({2, 5}, DType::f32, 5), true);
    const Variable y = ops::softmax(x, mask);
    backward(y, normal({2, 5}, DType::f32, 6));
    EXPECT_TRUE(same_bits(y.value(), Tensor::zeros({2, 5}, DType::f32)));
    for (const double g : x.grad().to_vector()) EXPECT_EQ(g, 0);
    const Tensor lost = softmax_forward(Tensor::full({2, 5}, -kInfinity, DType::f32));
    EXPECT_TRUE(same_bits(lost, Tensor::zeros({2, 5}, DType::f32)));
}

TEST(Softmax, IsSafeForHugeLogitsAndMinusInfinity) {
    for (const DType dtype : {DType::f32, DType::f64}) {
        const Tensor x =
            Tensor::from(std::vector<double>{1e4, -1e4, 1e4, 0, -kInfinity, -kInfinity, 3, -kInfinity}, {2, 4}).to(dtype);
        EXPECT_EQ(softmax_forward(x).to_vector(), (std::vector<double>{0.5, 0, 0.5, 0, 0, 0, 1, 0}));
    }
}

TEST(Softmax, IgnoresWhatTheMaskHidesEvenNan) {
    const Tensor x = Tensor::from(std::vector<float>{1, std::nanf(""), 1, 1e30f}, {1, 4});
    const Tensor mask = Tensor::from(std::vector<std::uint8_t>{1, 0, 255, 0}, {1, 4});
    EXPECT_EQ(softmax_forward(x, mask).to_vector(), (std::vector<double>{0.5, 0, 0.5, 0}));
}

TEST(Softmax, AcceptsNoRowsAndNoColumns) {
    for (const Shape& shape : {Shape({0, 5}), Shape({3, 0})}) {
        const Tensor y = softmax_forward(Tensor::zeros(shape, DType::f32));
        EXPECT_EQ(y.shape(), shape);
        EXPECT_EQ(softmax_backward(y, y).shape(), shape);
    }
}

TEST(Softmax, KeepsANanInItsRow) {
    Tensor x = normal({3, 8}, DType::f32, 1);
    x.data<float>()[11] = std::nanf("");
    const Tensor y = softmax_forward(x);
    for (std::int64_t i = 0; i < 24; ++i) EXPECT_EQ(std::isnan(y.data<float>()[i]), i / 8 == 1);
}

TEST(Softmax, GivesARowTheSameBitsAloneInAnyBatchAndForAnyNumberOfThreads) {
    const Tensor x = normal({700, 65}, DType::f32, 3, 0, 3), dy = normal({700, 65}, DType::f32, 4);
    const Tensor y = softmax_forward(x), dx = softmax_backward(dy, y);
    for (const std::int64_t row : {0, 1, 350, 699})
        EXPECT_TRUE(same_bits(softmax_forward(x.slice(row, row + 1)), y.slice(row, row + 1)));
    for (const int count : {1, 2, 3}) {
        const WithThreads threads(count);
        EXPECT_TRUE(same_bits(softmax_forward(x), y));
        EXPECT_TRUE(same_bits(softmax_backward(dy, y), dx));
    }
}

TEST(Softmax, NamesWhatDoesNotFit) {
    const Tensor x = Tensor::zeros({2, 3, 4}, DType::f32);
    expect_error(
        [&] {
            softmax_forward(x, Tensor::zeros({2, 3}, DType::u8));
        },
        "softmax: mask has shape [2, 3], but x has shape [2, 3, 4]; wanted the same shape or that of the last two axes");
    expect_error([&] { softmax_forward(x, Tensor::zeros({3, 4}, DType::f32)); }, "softmax: mask is f32, wanted u8");
    expect_error([] { softmax_forward(Tensor::zeros({}, DType::f32)); }, "softmax: x is a scalar");
    expect_error([] { softmax_forward(Tensor::zeros({2}, DType::i32)); }, "i32");
    expect_error([&] { softmax_backward(Tensor::zeros({2}, DType::f32), x); }, "dy has shape [2], wanted [2, 3, 4]");
}

TEST(Softmax, GradientsAreProven) {
    for (const GradientCase& one : proofs::softmax()) {
        const GradcheckReport report = gradcheck(one.function, one.inputs, one.options);
        EXPECT_TRUE(report.passed) << one.op << ", " << one.what << ": " << report.message;
    }
}

}  // namespace
}  // namespace heddle::kernels
