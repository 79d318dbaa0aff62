// Operators, functions and factories as a program that includes heddle/heddle.h writes them.
#include <gtest/gtest.h>

#include <heddle/heddle.h>

#include "tests/support.h"

namespace {

using namespace heddle;  // as in a program of its own
using Values = std::vector<double>;

Tensor matrix() { return Tensor::from<float>({1, 2, 3, 4}, {2, 2}); }
Tensor row() { return Tensor::from<float>({10, 20}, {2}); }

TEST(Operators, ComputeElementByElement) {
    const Variable a = matrix(), b = row();
    EXPECT_EQ((a + b).value().to_vector(), (Values{11, 22, 13, 24}));
    EXPECT_EQ((a - b).value().to_vector(), (Values{-9, -18, -7, -16}));
    EXPECT_EQ((a * b).value().to_vector(), (Values{10, 40, 30, 80}));
    EXPECT_EQ((b / a).value().to_vector(), (Values{10, 10, 10.0f / 3, 5}));
    EXPECT_EQ((-a).value().to_vector(), (Values{-1, -2, -3, -4}));
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

TEST(Operators, TakeTensors) {
    EXPECT_EQ((matrix() + row()).value().to_vector(), (Values{11, 22, 13, 24}));
    EXPECT_EQ((Variable(matrix()) * row()).value().to_vector(), (Values{10, 40, 30, 80}));
}

TEST(Operators, CompareIntoMasks) {
    const Variable a = matrix(), b = row();
    EXPECT_EQ((a > 2).to_vector(), (Values{0, 0, 1, 1}));
    EXPECT_EQ((2 >= a).to_vector(), (Values{1, 1, 0, 0}));
    EXPECT_EQ((a * 10 == b).to_vector(), (Values{1, 1, 0, 0}));
    EXPECT_EQ((a != a).to_vector(), (Values{0, 0, 0, 0}));
    EXPECT_EQ(((a > 1) & (a < 4)).to_vector(), (Values{0, 1, 1, 0}));
    EXPECT_EQ(((a <= 1) | (a == 4)).to_vector(), (Values{1, 0, 0, 1}));
    EXPECT_EQ(((a > 1) ^ (a > 3)).to_vector(), (Values{0, 1, 1, 0}));
    EXPECT_EQ((~(a > 1)).to_vector(), (Values{1, 0, 0, 0}));
    EXPECT_EQ((Tensor::from<std::int32_t>({3, 5}, {2}) == 5).to_vector(), (Values{0, 1}));
    EXPECT_EQ(where(a > 2, a, b).value().to_vector(), (Values{10, 20, 3, 4}));
    EXPECT_EQ(where(a > 2, a, 0).value().to_vector(), (Values{0, 0, 3, 4}));
    EXPECT_EQ(where(a > 2, -1, a).value().to_vector(), (Values{1, 2, -1, -1}));
}

TEST(Operators, HaveTheFunctionsThatPeopleWrite) {
    const Variable a = matrix();
    EXPECT_EQ(pow(a, 2).value().to_vector(), (Values{1, 4, 9, 16}));
    EXPECT_EQ(pow(2, a).value().to_vector(), (Values{2, 4, 8, 16}));
    EXPECT_EQ(pow(a, row() / 10).value().to_vector(), (Values{1, 4, 3, 16}));
    EXPECT_EQ(square(a).value().to_vector(), (Values{1, 4, 9, 16}));
    EXPECT_EQ(abs(-a).value().to_vector(), (Values{1, 2, 3, 4}));
    EXPECT_EQ(sign(a - 2).value().to_vector(), (Values{-1, 0, 1, 1}));
    EXPECT_EQ(maximum(a, 2).value().to_vector(), (Values{2, 2, 3, 4}));
    EXPECT_EQ(minimum(a, a * 0 + 3).value().to_vector(), (Values{1, 2, 3, 3}));
    EXPECT_EQ(clamp(a, 2, 3).value().to_vector(), (Values{2, 2, 3, 3}));
    EXPECT_EQ(rsqrt(a * 0 + 4).value().to_vector(), (Values{0.5, 0.5, 0.5, 0.5}));
    EXPECT_NEAR(sigmoid(a - 1).value().to_vector()[0], 0.5, 1e-7);
    EXPECT_NEAR(softplus(a - 1).value().to_vector()[0], std::log(2), 1e-7);
    EXPECT_NEAR((sin(a) * sin(a) + cos(a) * cos(a)).value().to_vector()[2], 1, 1e-6);
    EXPECT_NEAR((expm1(log1p(a)) - a).value().to_vector()[3], 0, 1e-6);
    EXPECT_NEAR(erf(a).value().to_vector()[0], std::erf(1.0), 1e-6);
    expect_error([&] { clamp(a, 3, 2); }, "clamp: the bounds are 3 and 2");
}

TEST(Operators, ReduceOverOneAxisSeveralOrAll) {
    const Variable a = matrix();
    EXPECT_EQ(sum(a).item(), 10);
    EXPECT_EQ(sum(a, 0).value().to_vector(), (Values{4, 6}));
    EXPECT_EQ(sum(a, {0, 1}).item(), 10);
    EXPECT_EQ(sum(a, {0, -1}, true).shape(), (Shape{1, 1}));
    EXPECT_EQ(mean(a).item(), 2.5);
    EXPECT_EQ(mean(a, {1}).value().to_vector(), (Values{1.5, 3.5}));
    EXPECT_EQ(max(a).item(), 4);
    EXPECT_EQ(min(a, -1, true).value().to_vector(), (Values{1, 3}));
    EXPECT_EQ(prod(a).item(), 24);
    EXPECT_EQ(cumsum(a, 1).value().to_vector(), (Values{1, 3, 3, 7}));
    EXPECT_NEAR(var(a).item(), 5.0 / 3, 1e-6);
    EXPECT_NEAR(stddev(a, 1, false, 0).value().to_vector()[0], 0.5, 1e-7);
    EXPECT_NEAR(norm(a).item(), std::sqrt(30.0), 1e-6);
    EXPECT_EQ(norm(a, 0, false, 1).value().to_vector(), (Values{4, 6}));
    EXPECT_NEAR(logsumexp(a * 1000, 1).value().to_vector()[1], 4000, 1e-3);
    EXPECT_EQ(argmax(a).item(), 3);
    EXPECT_EQ(argmax(a, 1).to_vector(), (Values{1, 1}));
    EXPECT_EQ(argmin(a, 0, true).shape(), (Shape{1, 2}));
    EXPECT_EQ(any(a > 3).item(), 1);
    EXPECT_EQ(all(a > 1, 1).to_vector(), (Values{0, 1}));
    expect_error([&] { sum(a, 2); }, "sum: shape [2, 2] has no axis 2");
    expect_error([&] { sum(a, {0, -2}); }, "axis -2 is named twice");
    expect_error([] { mean(Tensor::zeros({2, 0}, DType::f32)); }, "mean: x [2, 0] is empty");
    expect_error([] { var(Tensor::zeros({1}, DType::f32)); }, "leave nothing to divide by");
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

TEST(Functions, AreThoseOfOps) {
    const Variable a = matrix();
    EXPECT_EQ(mean(a).item(), 2.5);
    EXPECT_EQ(mean(a, 0).value().to_vector(), (Values{2, 3}));
    EXPECT_EQ(sum(a).item(), 10);
    EXPECT_EQ(relu(a - 3).value().to_vector(), (Values{0, 0, 0, 1}));
    EXPECT_EQ(matmul(a, a).value().to_vector(), (Values{7, 10, 15, 22}));
    EXPECT_EQ(exp(log(a)).shape(), Shape({2, 2}));
    EXPECT_EQ(sqrt(a * a).value().to_vector(), a.value().to_vector());
    EXPECT_EQ(reshape(a, {4}).shape(), Shape({4}));
    EXPECT_EQ(permute(a, {1, 0}).value().to_vector(), (Values{1, 3, 2, 4}));
    EXPECT_EQ(concat({a, reshape(row(), {1, 2})}, 0).value().to_vector(), (Values{1, 2, 3, 4, 10, 20}));
    EXPECT_EQ(embedding(a, Tensor::from<std::int32_t>({1, 0}, {2})).value().to_vector(), (Values{3, 4, 1, 2}));
    EXPECT_EQ(tanh(a).shape(), gelu(a).shape());
    EXPECT_NEAR(sum(softmax(a)).item(), 2, 1e-6);
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
