#include "kernels/log_softmax/log_softmax.h"

#include "tests/numbers.h"
#include "tests/support.h"

namespace heddle::kernels {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

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

TEST(LogSoftmax, NamesWhatDoesNotFit) {
    expect_error([] { log_softmax_forward(Tensor::zeros({}, DType::f32)); }, "log_softmax: x is a scalar");
    expect_error([] { log_softmax_forward(Tensor::zeros({2}, DType::u8)); }, "log_softmax: the CPU computes in f32 or f64");
}

}  // namespace
}  // namespace heddle::kernels
