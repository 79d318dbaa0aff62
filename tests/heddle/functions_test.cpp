// Functions at the edges of their range: negative, zero, large and infinite numbers, empty axes, numbers beside integers, and
// what is refused in whose name. tests/cross_check/composed.cpp draws ordinary numbers.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <heddle/heddle.h>

#include "tests/support.h"

namespace {

using namespace heddle;
using Values = std::vector<double>;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

Tensor row(const Values& numbers) { return Tensor::from(numbers).to(DType::f32); }

// Each element within this part of its size; infinities exactly.
void expect_near(const Variable& found, const Values& wanted, double relative = 4e-7) {
    const Values values = found.to_vector();
    ASSERT_EQ(values.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (std::isinf(wanted[i]))
            EXPECT_EQ(values[i], wanted[i]) << "element " << i;
        else
            EXPECT_NEAR(values[i], wanted[i], relative * std::abs(wanted[i])) << "element " << i;
    }
}

// The function's values at these numbers, f32, and its derivatives there.
void expect_function(const std::function<Variable(const Variable&)>& function, const Values& at, const Values& values,
                     const Values& slopes, double relative = 4e-7) {
    const Variable x(row(at), true);
    const Variable y = function(x);
    expect_near(y, values, relative);
    y.sum().backward();
    expect_near(x.grad(), slopes, relative);
}

TEST(Edges, HyperbolicFunctionsTakeNumbersOfEitherSignAndAnySize) {
    const double e20 = std::exp(20.0) / 2, e88 = std::exp(88.0) / 2, e89 = std::exp(89.0) / 2, c = std::cosh(0.5);
    expect_function([](const Variable& x) { return sinh(x); }, {0, 1e-6, -1e-6, 0.5, -20, 20, -88, 88},
                    {0, 1e-6, -1e-6, std::sinh(0.5), -e20, e20, -e88, e88}, {1, 1, 1, c, e20, e20, e88, e88}, 1e-6);
    expect_function([](const Variable& x) { return cosh(x); }, {0, 0.5, -20, 20, -88, 88}, {1, c, e20, e20, e88, e88},
                    {0, std::sinh(0.5), -e20, e20, -e88, e88}, 1e-6);
    expect_near(sinh(row({-89, 89})), {-e89, e89}, 1e-6);  // e^89 itself is beyond f32
    expect_near(cosh(row({-89, 89})), {e89, e89}, 1e-6);
    expect_near(sinh(row({-kInfinity, kInfinity})), {-kInfinity, kInfinity});
    expect_near(cosh(row({-kInfinity, kInfinity})), {kInfinity, kInfinity});
    expect_function([](const Variable& x) { return tan(x); }, {0, -1.5, 3}, {0, std::tan(-1.5), std::tan(3.0)},
                    {1, 1 + std::pow(std::tan(1.5), 2), 1 + std::pow(std::tan(3.0), 2)}, 2e-6);
}

TEST(Edges, LogarithmsEndAtZero) {
    expect_function([](const Variable& x) { return log2(x); }, {0, 8, 1e30, kInfinity},
                    {-kInfinity, 3, std::log2(1e30), kInfinity}, {kInfinity, 0.125 / std::log(2.0), 1e-30 / std::log(2.0), 0});
    expect_function([](const Variable& x) { return log10(x); }, {0, 1000, kInfinity}, {-kInfinity, 3, kInfinity},
                    {kInfinity, 1e-3 / std::log(10.0), 0});
    EXPECT_TRUE(std::isnan(log2(row({-1})).item()));
}

TEST(Edges, ActivationsHaveTheSlopeOfTheirSide) {
    expect_function([](const Variable& x) { return elu(x, 2); }, {0, 1e-3, -1, -200, 200, kInfinity, -kInfinity},
                    {0, 1e-3, 2 * std::expm1(-1.0), -2, 200, kInfinity, -2}, {2, 1, 2 * std::exp(-1.0), 0, 1, 1, 0});
    expect_function([](const Variable& x) { return leaky_relu(x, 0.1); }, {0, -1e30, 1e30, kInfinity, -kInfinity},
                    {0, -1e29, 1e30, kInfinity, -kInfinity}, {0.1, 0.1, 1, 1, 0.1});
    expect_function([](const Variable& x) { return log_sigmoid(x); }, {0, -200, 20, 200, kInfinity, -kInfinity},
                    {-std::log(2.0), -200, -2.0611536e-9, 0, 0, -kInfinity}, {0.5, 1, 2.0611536e-9, 0, 0, 1}, 1e-6);
}

TEST(Edges, LogAddExpTakesInfinities) {
    const Variable a(row({0, 1e4, -kInfinity, kInfinity, kInfinity, -kInfinity, -90}), true);
    const Variable b(row({0, -1e4, 2, 2, kInfinity, -kInfinity, 0}), true);
    const Variable y = logaddexp(a, b);
    expect_near(y, {std::log(2.0), 1e4, 2, kInfinity, kInfinity, -kInfinity, std::exp(-90.0)}, 1e-5);
    y.sum().backward();
    expect_near(a.grad(), {0.5, 1, 0, 1, 0.5, 0.5, std::exp(-90.0)}, 1e-5);
    expect_near(b.grad(), {0.5, 0, 1, 0, 0.5, 0.5, 1});
    EXPECT_TRUE(std::isnan(logaddexp(row({std::nan("")}), row({1})).item()));
    EXPECT_EQ(logaddexp(Tensor::zeros({2, 1}), Tensor::zeros({3})).shape(), (Shape{2, 3}));
}

TEST(Edges, DirectionsDoNotDependOnTheSize) {
    for (const double size : {1e-6, 1.0, 1e25, -1e25}) {
        const Variable x(row({3 * size, 4 * size}), true);
        const double sign = size < 0 ? -1 : 1;
        const Variable y = normalize(x, 0);
        expect_near(y, {0.6 * sign, 0.8 * sign});
        y[0].backward();
        expect_near(x.grad(), {0.64 / std::abs(5 * size), -0.48 / std::abs(5 * size)}, 2e-6);
        EXPECT_NEAR(cosine_similarity(x, row({4, 3}), 0).item(), 0.96 * sign, 1e-6) << size;
    }
    // Below eps a vector keeps a part of its size.
    expect_function([](const Variable& x) { return normalize(x, 0, 1e-3); }, {0, 0}, {0, 0}, {1e3, 1e3});
    expect_near(normalize(row({3e-5, 4e-5}), 0, 1e-3), {0.03, 0.04});
    expect_near(cosine_similarity(row({3e-5, 0}), row({1, 0}), 0, 1e-3), {0.03});
    EXPECT_NEAR(cosine_similarity(Tensor::ones({2, 1}), tensor({1.0, 1.0, 0.0, 0.0}), 1)[1].item(), std::sqrt(0.5), 1e-6);
    EXPECT_EQ(normalize(Tensor::zeros({2, 0})).shape(), (Shape{2, 0}));
}

TEST(Edges, LerpReachesBothEnds) {
    const Tensor a = row({1e8, -3}), b = row({1, 7});
    EXPECT_EQ(lerp(a, b, 0).to_vector(), a.to_vector());
    EXPECT_EQ(lerp(a, b, 1).to_vector(), b.to_vector());
}

TEST(Edges, ADiagonalLeavesInfinitiesAndIntegersAsTheyAre) {
    EXPECT_EQ(diag(row({kInfinity, 2})).to_vector(), (Values{kInfinity, 0, 0, 2}));
    EXPECT_EQ(diag(tensor({3, -2147483647})).value().dtype(), DType::i32);
    EXPECT_EQ(diag(tensor({3, -2147483647})).to_vector(), (Values{3, 0, 0, -2147483647}));
    EXPECT_EQ(diag(tensor({true, false})).value().dtype(), DType::u8);
    EXPECT_EQ(diag(tensor({{1, 2, 3}, {4, 5, 6}})).to_vector(), (Values{1, 5}));
}

TEST(Edges, BinaryLossesHaveNoNaNAtCertainty) {
    const Variable p(row({1, 0, 0, 1, 0.5}), true);
    const Tensor t = row({1, 0, 1, 0, 1});
    const Variable losses = bce_loss(p, t, {.reduction = Reduction::none});
    expect_near(losses, {0, 0, 100, 100, std::log(2.0)});
    losses.sum().backward();
    EXPECT_EQ(p.grad().to_vector(), (Values{-1, 1, 0, 0, -2}));
    const Variable x(row({-20, 20, -1e4, 1e4}), true);
    const Variable rest = bce_with_logits(x, row({0, 1, 0, 1}), {.reduction = Reduction::none});
    expect_near(rest, {2.0611536e-9, 2.0611536e-9, 0, 0}, 1e-6);
    rest.sum().backward();
    expect_near(x.grad(), {2.0611536e-9, -2.0611536e-9, 0, 0}, 1e-6);
    EXPECT_EQ(bce_with_logits(x, t.slice(0, 4) > 0.5).item(), bce_with_logits(x, t.slice(0, 4)).item());
    EXPECT_EQ(huber_loss(x, row({0, 1, 0, 1}), 2, Reduction::none).to_vector()[3], 2 * (1e4 - 1) - 2);
    EXPECT_NEAR(bce_with_logits(row({-20}), row({0}), {.positive_weight = row({3})}).item(), 2.0611536e-9, 1e-14);
    EXPECT_EQ(mse_loss(tensor({{1, 2}, {3, 4}}).to(DType::f32), Tensor::zeros({2, 2}), Reduction::batch_mean).item(), 15);
}

TEST(Edges, IntegersAreComparedWithNumbersOutsideTheirRange) {
    const Tensor mask = tensor({true, false}), bytes = tensor({255, 0}, DType::u8), whole = tensor({2147483647, -5});
    EXPECT_EQ((mask > -1).to_vector(), (Values{1, 1}));
    EXPECT_EQ((bytes == 300).to_vector(), (Values{0, 0}));
    EXPECT_EQ((bytes < 256).to_vector(), (Values{1, 1}));
    EXPECT_EQ((-1 < bytes).to_vector(), (Values{1, 1}));
    EXPECT_EQ((whole == 2147483648.0).to_vector(), (Values{0, 0}));
    EXPECT_EQ((whole < 1e300).to_vector(), (Values{1, 1}));
    EXPECT_EQ((whole != std::nan("")).to_vector(), (Values{1, 1}));
    EXPECT_EQ((whole == 2147483647).to_vector(), (Values{1, 0}));
    EXPECT_EQ(isfinite(mask).to_vector(), (Values{1, 1}));
    EXPECT_EQ(isinf(whole).to_vector(), (Values{0, 0}));
    EXPECT_EQ((bytes + 300).to_vector(), (Values{555, 300}));
    EXPECT_EQ((whole - kInfinity).to_vector(), (Values{-kInfinity, -kInfinity}));
}

TEST(Edges, AnEmptyAxisHasEmptyParts) {
    const Variable x = Tensor::zeros({0, 3});
    ASSERT_EQ(split(x, 2).size(), 1u);
    EXPECT_EQ(split(x, 2)[0].shape(), (Shape{0, 3}));
    ASSERT_EQ(chunk(x, 2).size(), 2u);
    EXPECT_EQ(chunk(x, 2)[1].shape(), (Shape{0, 3}));
    EXPECT_TRUE(unbind(x).empty());
    EXPECT_EQ(chunk(Tensor::zeros({5}), 3).size(), 3u);
    EXPECT_EQ(x.split(2).size(), 1u);
    EXPECT_EQ(x.value().split(2).size(), 1u);
    EXPECT_EQ(x.chunk(2).size(), 2u);
}

TEST(Edges, ALeafThatIsNamedTwiceCountsOnce) {
    const Variable w(row({3, 4}), true), other(row({1}), true);
    sum(w * w).backward();
    const std::vector<Tensor> both = grad(sum(w * 5) + sum(other), {w, other, w});
    EXPECT_EQ(both[0].to_vector(), (Values{5, 5}));
    EXPECT_EQ(both[2].to_vector(), (Values{5, 5}));
    EXPECT_EQ(w.grad().to_vector(), (Values{6, 8}));
    EXPECT_FALSE(other.grad().defined());
    EXPECT_NEAR(clip_grad_norm({w, w}, 5), 10, 1e-6);
    expect_near(w.grad(), {3, 4}, 1e-6);
}

TEST(Edges, EmbeddingsTakeTokensOfAnyShape) {
    const Variable table(tensor({{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}}), true);
    const Tensor tokens = tensor({{2, 0}, {1, 2}});
    const Variable y = embedding(table, tokens);
    EXPECT_EQ(y.shape(), (Shape{2, 2, 2}));
    EXPECT_EQ(y.to_vector(), (Values{5, 6, 1, 2, 3, 4, 5, 6}));
    y.sum().backward();
    EXPECT_EQ(table.grad().to_vector(), (Values{1, 1, 1, 1, 2, 2}));
    EXPECT_EQ(embedding(table, tensor(1)).to_vector(), (Values{3, 4}));
    const nn::Embedding layer(3, 2);
    EXPECT_EQ(layer(tokens).shape(), (Shape{2, 2, 2}));
    EXPECT_EQ(layer(tokens).to_vector(), layer(tokens.reshape({4})).to_vector());
    expect_error([&] { embedding(table, tensor({{3}})); }, "embedding: token");
}

TEST(Edges, AnOpRefusesInItsOwnName) {
    const Variable x = Tensor::zeros({2, 3}), wide = x.to(DType::f64);
    expect_error([&] { softmax(x, 5); }, "softmax: shape [2, 3] has no axis 5");
    expect_error([&] { log_softmax(x, -3); }, "log_softmax: shape [2, 3] has no axis -3");
    expect_error([&] { index_select(x, 1, tensor({{0, 1}})); }, "index_select: indices has shape [1, 2]");
    expect_error([&] { index_select(x, 1, tensor({0.0})); }, "index_select: indices");
    expect_error([&] { mse_loss(x, wide); }, "mse_loss: x is f32, but the target f64");
    expect_error([&] { bce_with_logits(x, wide); }, "bce_with_logits: logits is f32, but the target f64");
    expect_error([&] { bce_loss(x, x, {.weight = wide.value()}); }, "bce_loss: weight");
    expect_error([&] { unbind(x, 2); }, "unbind: shape [2, 3] has no axis 2");
    expect_error([&] { sort(x, 2); }, "sort: shape [2, 3] has no axis 2");
    expect_error([&] { argsort(x, 2); }, "argsort: shape [2, 3] has no axis 2");
    expect_error([&] { cosine_similarity(x, x, 2); }, "cosine_similarity: shape [2, 3] has no axis 2");
    expect_error([&] { movedim(x, 0, 2); }, "movedim: shape [2, 3] has no axis 2");
    expect_error(
        [] {
            bmm(Tensor::zeros({2, 3, 4}), Tensor::zeros({1, 4, 5}));
        },
        "bmm: a has shape [2, 3, 4] and b [1, 4, 5], wanted one batch extent");
    expect_error(
        [] {
            const nn::GRU layer(3, 4);
            layer.forward(Tensor::zeros({1, 2, 3}), Tensor::zeros({2, 2}));
        },
        "hidden has shape [2, 2], wanted");
}

}  // namespace

// A program may open both namespaces.
namespace opened {
using namespace heddle;
using namespace heddle::nn;

TEST(Names, OfModulesAreNoNamesOfTheLibrary) {
    Sequential net;
    net.add<Linear>(3, 2).add<Dropout>(0.5);
    const Dropout drop(0.5);
    EXPECT_EQ(net.size(), 2);
    EXPECT_EQ(drop.kind(), "Dropout");
}

}  // namespace opened
