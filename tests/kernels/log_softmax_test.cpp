#include "kernels/log_softmax/log_softmax.h"

#include "autograd/ops.h"
#include "autograd/proofs.h"
#include "tests/numbers.h"
#include "tests/support.h"

namespace heddle::kernels {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const std::int64_t kWidths[] = {1, 2, 31, 32, 33, 127, 1025};

TEST(LogSoftmax, EqualsTheFormula) {
    for (const std::int64_t cols : kWidths) {
        const Tensor x = normal({3, cols}, DType::f32, 5, 1, 3);
        const std::vector<double> values = x.to_vector();
        Tensor wanted = Tensor::empty({3, cols}, DType::f64);
        for (std::int64_t row = 0; row < 3; ++row) {
            double total = 0;
            for (std::int64_t i = row * cols; i < row * cols + cols; ++i) total += std::exp(values[static_cast<std::size_t>(i)]);
            for (std::int64_t i = row * cols; i < row * cols + cols; ++i)
                wanted.data<double>()[i] = values[static_cast<std::size_t>(i)] - std::log(total);
        }
        EXPECT_LT(relative_error(log_softmax_forward(x), wanted), 1e-6) << cols;
        EXPECT_LT(relative_error(log_softmax_forward(x.to(DType::f64)), wanted), 1e-13) << cols;
    }
}

TEST(LogSoftmax, StaysFiniteWhereTheProbabilityUnderflows) {
    const Tensor x = Tensor::from(std::vector<float>{0, -1e4f, 1e4f}, {1, 3});
    EXPECT_EQ(log_softmax_forward(x).to_vector(), (std::vector<double>{-1e4, -2e4, 0}));
}

TEST(LogSoftmax, SendsMinusInfinityThroughAndARowOfThemGivesNoGradient) {
    const Tensor x = Tensor::from(std::vector<double>{-kInfinity, 2, 2, -kInfinity, -kInfinity, -kInfinity}, {2, 3});
    const Tensor y = log_softmax_forward(x);
    const std::vector<double> given = y.to_vector();
    EXPECT_EQ(given[0], -kInfinity);
    EXPECT_NEAR(given[1], -std::log(2.0), 1e-15);
    for (const std::size_t i : {3, 4, 5}) EXPECT_EQ(given[i], -kInfinity);
    const std::vector<double> dx =
        log_softmax_backward(Tensor::from(std::vector<double>{0, 1, 0, 1, 2, 3}, {2, 3}), y).to_vector();
    EXPECT_EQ(dx[0], 0);
    EXPECT_NEAR(dx[1], 0.5, 1e-15);
    EXPECT_NEAR(dx[2], -0.5, 1e-15);
    for (const std::size_t i : {3, 4, 5}) EXPECT_EQ(dx[i], 0);
}

TEST(LogSoftmax, AcceptsNoRowsAndNoColumns) {
    for (const Shape& shape : {Shape({0, 5}), Shape({3, 0})}) {
        const Tensor y = log_softmax_forward(Tensor::zeros(shape, DType::f32));
        EXPECT_EQ(y.shape(), shape);
        EXPECT_EQ(log_softmax_backward(y, y).shape(), shape);
    }
}

TEST(LogSoftmax, KeepsANanInItsRow) {
    Tensor x = normal({3, 8}, DType::f32, 1);
    x.data<float>()[11] = std::nanf("");
    const Tensor y = log_softmax_forward(x);
    for (std::int64_t i = 0; i < 24; ++i) EXPECT_EQ(std::isnan(y.data<float>()[i]), i / 8 == 1);
}

TEST(LogSoftmax, GivesARowTheSameBitsAloneInAnyBatchAndForAnyNumberOfThreads) {
    const Tensor x = normal({700, 65}, DType::f32, 3, 0, 3), dy = normal({700, 65}, DType::f32, 4);
    const Tensor y = log_softmax_forward(x), dx = log_softmax_backward(dy, y);
    for (const std::int64_t row : {0, 1, 350, 699})
        EXPECT_TRUE(same_bits(log_softmax_forward(x.slice(row, row + 1)), y.slice(row, row + 1)));
    for (const int count : {1, 2, 3}) {
        const WithThreads threads(count);
        EXPECT_TRUE(same_bits(log_softmax_forward(x), y));
        EXPECT_TRUE(same_bits(log_softmax_backward(dy, y), dx));
    }
}

TEST(LogSoftmax, NamesWhatDoesNotFit) {
    expect_error([] { log_softmax_forward(Tensor::zeros({}, DType::f32)); }, "log_softmax: x is a scalar");
    expect_error([] { log_softmax_forward(Tensor::zeros({2}, DType::u8)); }, "log_softmax: the CPU computes in f32 or f64");
    expect_error([] { log_softmax_backward(Tensor::zeros({2}, DType::f32), Tensor::zeros({3}, DType::f32)); },
                 "dy has shape [2]");
}

TEST(LogSoftmax, GradientsAreProven) {
    for (const GradientCase& one : proofs::log_softmax()) {
        const GradcheckReport report = gradcheck(one.function, one.inputs, one.options);
        EXPECT_TRUE(report.passed) << one.op << ", " << one.what << ": " << report.message;
    }
}

}  // namespace
}  // namespace heddle::kernels
