// Operators, functions and factories as a program that includes heddle/heddle.h writes them.
#include <gtest/gtest.h>

#include <heddle/heddle.h>

#include "tests/support.h"

namespace {

using namespace heddle;  // as in a program of its own
using Values = std::vector<double>;

Tensor matrix() { return Tensor::from<float>({1, 2, 3, 4}, {2, 2}); }
Tensor row() { return Tensor::from<float>({10, 20}, {2}); }

TEST(Operators, RefuseAxesAndBoundsThatDoNotFit) {
    const Variable a = matrix();
    expect_error([&] { clamp(a, 3, 2); }, "clamp: the bounds are 3 and 2");
    expect_error([&] { sum(a, 2); }, "sum: shape [2, 2] has no axis 2");
    expect_error([&] { sum(a, {0, -2}); }, "axis -2 is named twice");
    expect_error([] { mean(Tensor::zeros({2, 0}, DType::f32)); }, "mean: x [2, 0] is empty");
    expect_error([] { var(Tensor::zeros({1}, DType::f32)); }, "leave nothing to divide by");
}

TEST(Operators, TakeNumbersOnEitherSide) {
    const Variable a = matrix();
    EXPECT_EQ((a + 1).value().to_vector(), (Values{2, 3, 4, 5}));
    EXPECT_EQ((1 + a).value().to_vector(), (Values{2, 3, 4, 5}));
    EXPECT_EQ((a - 0.5).value().to_vector(), (Values{0.5, 1.5, 2.5, 3.5}));
    EXPECT_EQ((1 - a).value().to_vector(), (Values{0, -1, -2, -3}));
    EXPECT_EQ((a * 2).value().to_vector(), (Values{2, 4, 6, 8}));
    EXPECT_EQ((2.0f * a).value().to_vector(), (Values{2, 4, 6, 8}));
    EXPECT_EQ((a / 2).value().to_vector(), (Values{0.5, 1, 1.5, 2}));
    EXPECT_EQ((12 / a).value().to_vector(), (Values{12, 6, 4, 3}));
    EXPECT_EQ((1 - a).dtype(), DType::f32);
}

// No gradient is NaN where a root or a logarithm has none.
TEST(Operators, ReductionsOfNothingSendNoNan) {
    const double infinity = std::numeric_limits<double>::infinity();
    const auto gradient = [](const Tensor& value, auto function) {
        Variable x(value, true);
        sum(function(x)).backward();
        return x.grad().to_vector();
    };
    EXPECT_EQ(gradient(Tensor::zeros({2, 2}, DType::f64), [](auto& x) { return norm(x, 1); }), Values(4, 0));
    EXPECT_EQ(gradient(Tensor::full({2, 2}, 3, DType::f64), [](auto& x) { return stddev(x, 1); }), Values(4, 0));
    EXPECT_EQ(gradient(Tensor::from({0.0, 4.0, 0.0, 0.0}, {2, 2}), [](auto& x) { return norm(x, 1, false, 0.5); }),
              (Values{0, 1, 0, 0}));
    EXPECT_EQ(gradient(Tensor::full({1, 2}, -infinity, DType::f64), [](auto& x) { return exp(logsumexp(x, 1)); }), Values(2, 0));
}

TEST(Operators, HaveProvenGradients) {
    const Tensor x = away_from_zero(random_input({3, 4}, 1), 0.5), y = away_from_zero(random_input({4}, 2), 0.5);
    const auto report =
        gradcheck([](auto in) { return 2 * in[0] * in[1] - (1 + in[1]) / in[0] / 3 + -in[0] - (4 - in[1]); }, {x, y});
    EXPECT_TRUE(report.passed) << report.message;
}

TEST(Operators, NameTheLineOfTheExpressionInErrors) {
    Variable x(Tensor::full({2}, 1, DType::f32), true);
    Tensor factor = Tensor::full({2}, 3, DType::f32);
    const int line = __LINE__ + 1;
    const Variable loss = sum(x * factor);
    factor.mutable_values<float>()[0] = 4;
    expect_error([&] { loss.backward(); }, fmt::format("tests/heddle/operators_test.cpp:{}", line));
}

TEST(Operators, RefuseAnUndefinedVariable) {
    expect_error([] { Variable() + 1; }, "undefined");
    expect_error([] { Variable(matrix()) * Variable(); }, "undefined");
}

TEST(Operators, MixDevicesOnlyWithNumbers) {
    if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    const Variable a = matrix().to(Device::cuda);
    EXPECT_EQ((1 - 2 * a / 4).value().to_vector(), (Values{0.5, 0, -0.5, -1}));
    EXPECT_THROW(a + row(), Error);
    device::synchronize();
}

TEST(Functions, CrossEntropyTakesTargetsAsTensorOrVariable) {
    const Tensor logits = Tensor::randn({3, 5}, 1), targets = Tensor::from<std::int32_t>({0, 4, 2}, {3});
    EXPECT_EQ(cross_entropy(logits, targets).item(), cross_entropy(logits, Variable(targets)).item());
    EXPECT_NEAR(cross_entropy(logits, targets, {.label_smoothing = 0.1}).item(),
                cross_entropy(logits, Variable(targets), {.label_smoothing = 0.1}).item(), 0);
}

TEST(Backward, IsTheOneOfTheTape) {
    Variable x(matrix(), true);
    mean(x * x).backward();
    EXPECT_EQ(x.grad().to_vector(), (Values{0.5, 1, 1.5, 2}));
    const Variable loss = sum(3 * x);
    loss.backward(true);
    loss.backward();
    EXPECT_EQ(x.grad().to_vector(), (Values{6.5, 7, 7.5, 8}));
    EXPECT_THROW((x * 2).backward(), Error) << "not a scalar";
}

TEST(Factories, DrawTheSameNumbersForTheSameSeed) {
    const Tensor a = Tensor::randn({30, 2}, 7);
    EXPECT_EQ(a.shape(), Shape({30, 2}));
    EXPECT_EQ(a.dtype(), DType::f32);
    EXPECT_EQ(a.to_vector(), Tensor::randn({30, 2}, 7).to_vector());
    EXPECT_NE(a.to_vector(), Tensor::randn({30, 2}, 8).to_vector());
    EXPECT_EQ(Tensor::randn({4}, 7, DType::bf16).to_vector(), Tensor::randn({4}, 7).to(DType::bf16).to_vector());
    double squares = 0;
    for (const double value : Tensor::randn({10000}, 1, DType::f64).to_vector()) squares += value * value;
    EXPECT_NEAR(squares / 10000, 1, 0.05);
    for (const double value : Tensor::rand({1000}, 1).to_vector()) {
        EXPECT_GE(value, 0);
        EXPECT_LT(value, 1);
    }
    if (device::available()) {
        EXPECT_EQ(Tensor::rand({9}, 3, DType::f32, Device::cuda).to_vector(), Tensor::rand({9}, 3).to_vector());
    }
}

TEST(Factories, CountAndTakeLists) {
    EXPECT_EQ(Tensor::arange(4).to_vector(), (Values{0, 1, 2, 3}));
    EXPECT_EQ(Tensor::arange(4).dtype(), DType::i32);
    EXPECT_EQ(Tensor::arange(3, DType::f64).dtype(), DType::f64);
    EXPECT_EQ(Tensor::arange(0).numel(), 0);
    expect_error([] { Tensor::arange(-1); }, "arange: -1 numbers");
    EXPECT_EQ(Tensor::zeros({2, 3}).dtype(), DType::f32);
    EXPECT_EQ(Tensor::from({1.5, 2.5}, {2}).dtype(), DType::f64);
    EXPECT_EQ(Spans::packed({3, 2}).rows(), 5);
}

TEST(Elements, AreReadAsConstantsAndWrittenWithANewVersion) {
    Tensor x = matrix();
    static_assert(std::is_same_v<decltype(x.values<float>()), std::span<const float>>);
    const auto before = x.version();
    EXPECT_EQ(x.values<float>()[3], 4);
    EXPECT_EQ(x.version(), before);
    x.mutable_values<float>()[3] = 5;
    EXPECT_EQ(x.version(), before + 1);
    EXPECT_EQ(x.values<float>()[3], 5);
    expect_error([&] { x.values<double>(); }, "are f32, but were asked for as f64");
    expect_error([] { Tensor().values<float>(); }, "undefined tensor");
    if (device::available()) {
        expect_error([&] { x.to(Device::cuda).values<float>(); }, "lie on cuda; copy them with to(Device::cpu)");
        device::synchronize();
    }
}

TEST(Variables, PrintTheirValues) {
    EXPECT_EQ(fmt::format("{}", Variable(row())), "[10. 20.]");
    EXPECT_EQ(fmt::format("{}", sum(Variable(row()))), "30.0");
    std::ostringstream stream;
    stream << Variable();
    EXPECT_EQ(stream.str(), "undefined");
}

}  // namespace
