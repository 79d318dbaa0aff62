// Forms of tensors and Variables: what they do beside the lines of one_liners_test, and what they refuse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <heddle/heddle.h>

#include "tests/support.h"

namespace {

using namespace heddle;
using Values = std::vector<double>;

Tensor matrix() { return tensor({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}}); }

TEST(InPlace, ATensorChangesItsMemoryAndItsVersion) {
    Tensor x = matrix();
    const Tensor row = x[1];
    const std::uint64_t before = x.version();
    x += 1;
    EXPECT_EQ(row.to_vector(), (Values{5, 6, 7}));
    EXPECT_GT(x.version(), before);
    x[0] *= 2;
    x[{1, 2}] = -1;
    EXPECT_EQ(x.to_vector(), (Values{4, 6, 8, 5, 6, -1}));
    x[1] = x[0];
    EXPECT_EQ(x.to_vector(), (Values{4, 6, 8, 4, 6, 8}));
    expect_error([&] { x += Tensor::zeros({2, 2, 3}); }, "+=: the result is [2, 2, 3] f32, but it is written into [2, 3] f32");
    Tensor counts = tensor({1, 2});
    expect_error([&] { counts /= 2; }, "/=: the result is [2] f32, but it is written into [2] i32");
    expect_error([&] { x[0] = Tensor::zeros({2}); }, "copy: the source is [2] f32, but the target is [3] f32");
}

TEST(InPlace, BackwardNoticesWhatWasSaved) {
    const Variable w(matrix(), true);
    Tensor x = matrix();
    const Variable loss = sum(w * x);
    x *= 2;
    expect_error([&] { loss.backward(); }, "but it was changed in place at");
}

TEST(InPlace, AVariableMovesOnAndALeafStays) {
    Variable w(matrix(), true);
    const Variable first = w * 1;
    Variable h = first;
    h += w;
    h *= 3;
    EXPECT_EQ(first.to_vector()[0], 1);
    sum(h).backward();
    EXPECT_EQ(w.grad().to_vector(), Values(6, 6));
    expect_error([&] { w -= 1; }, "-=: a leaf that requires a gradient can only be changed in place under NoGrad");
    const Variable same = w;
    {
        const NoGrad no_grad;
        w -= w.grad();
    }
    EXPECT_EQ(same.to_vector(), (Values{-5, -4, -3, -2, -1, 0}));
    EXPECT_TRUE(w.is(same) && w.requires_grad());
}

TEST(Integers, AreComputedExactlyOrRefused) {
    const Tensor places = tensor({2147483647, -3}), mask = tensor({true, false});
    EXPECT_EQ((places - 1).dtype(), DType::i32);
    EXPECT_EQ((places - 1).to_vector(), (Values{2147483646, -4}));
    EXPECT_EQ((places / 2).dtype(), DType::f32);
    EXPECT_EQ((mask + mask).to_vector(), (Values{2, 0}));
    EXPECT_EQ((mask * 0.5).to_vector(), (Values{0.5, 0}));
    EXPECT_EQ((tensor({1.5, 2.5}) * mask).to_vector(), (Values{1.5, 0}));
    EXPECT_EQ((places > 0.5).to_vector(), (Values{1, 0}));
    EXPECT_EQ((tensor({0, 1}) == 0.5).to_vector(), (Values{0, 0}));
    EXPECT_EQ((mask == tensor({1, 1})).to_vector(), (Values{1, 0}));
    EXPECT_EQ(sum(tensor({{1, 2}, {3, 4}}), 0).to_vector(), (Values{4, 6}));
    EXPECT_EQ(max(places).item<std::int64_t>(), 2147483647);
    EXPECT_EQ(argmin(places).item(), 1);
    expect_error([&] { places + 1; }, "add: the integer result 2147483648 does not fit into i32");
    expect_error([&] { sum(tensor({2147483647, 1})); }, "sum: the integer result 2147483648 does not fit into i32");
    const std::vector<std::int64_t> wide = {1, std::int64_t{1} << 40};
    expect_error([&] { Tensor::from(wide); }, "tensor: the number 1099511627776 does not fit into i32");
    EXPECT_EQ(Tensor::from(std::vector<bool>{true, false}).dtype(), DType::u8);
    EXPECT_EQ(tensor({0.25, 0.0}).to<bool>().to_vector(), (Values{1, 0}));
    expect_error([] { tensor({{1, 2}, {3}}); }, "tensor: a row has 1 numbers, but the first one has 2");
}

TEST(Places, CountFromTheEndAndAreChecked) {
    const Tensor x = matrix();
    const Variable v = x;
    EXPECT_EQ(x.slice(-1).shape(), (Shape{1, 3}));
    EXPECT_EQ(v.slice(1, -2, 3).to_vector(), (Values{2, 3, 5, 6}));
    EXPECT_EQ((x[{-1, -1}].item()), 6);
    EXPECT_EQ(v.index({Ellipsis, Slice(None, None, 2)}).to_vector(), (Values{1, 3, 4, 6}));
    EXPECT_EQ(v.index({tensor({-1, 0}), None}).shape(), (Shape{2, 1, 3}));
    EXPECT_EQ(v.index({Slice(), tensor({true, false, true})}).to_vector(), (Values{1, 3, 4, 6}));
    EXPECT_EQ(v.index({Slice(5, 9)}).shape(), (Shape{0, 3}));
    expect_error([&] { x[2]; }, "index: no place 2 in the axis of extent 2 of [2, 3]");
    expect_error([&] { x[{0, 0, 0}]; }, "index: 3 places, but [2, 3] has 2 axes");
    expect_error([&] { v.select(1, 3); }, "select: no place 3 in axis 1 of [2, 3]");
    expect_error([&] { v.index({Slice(None, None, -1)}); }, "the step of a slice is -1");
    expect_error([&] { x[tensor({true, false, true})]; }, "does not lie on [2, 3]");
    expect_error([&] { x.slice(1, 0); }, "slice: rows [1, 0) of [2, 3]");
    Tensor y = x.clone();
    y.index_put_({Slice(), Slice(1)}, tensor({7.0, 8.0}));
    EXPECT_EQ(y.to_vector(), (Values{1, 7, 8, 4, 7, 8}));
    y.index_put_({y > 6}, 0);
    EXPECT_EQ(y.to_vector(), (Values{1, 0, 0, 4, 0, 0}));
    expect_error([&] { y.index_put_({0}, tensor({1.0, 2.0})); }, "do not broadcast");
}

TEST(Places, SendTheirGradientsBack) {
    const Variable w(matrix().to(DType::f64), true);
    (w.index({Slice(), -1}).sum() + 2 * w[0][1] + w[tensor({1, 1})].sum()).backward();
    EXPECT_EQ(w.grad().to_vector(), (Values{0, 2, 1, 2, 2, 3}));
    const Variable single(matrix(), true);
    (single.to(DType::f64) * 0.1).sum().backward();
    EXPECT_EQ(single.grad().dtype(), DType::f32);
}

TEST(Shapes, HaveOneOpenExtent) {
    const Tensor x = matrix();
    EXPECT_EQ(x.reshape({-1, 2}).shape(), (Shape{3, 2}));
    EXPECT_EQ(x.reshape({6}).shape(), (Shape{6}));
    EXPECT_TRUE(x.view(-1).shares_storage(x));
    EXPECT_EQ(x[0].unsqueeze(1).expand({-1, 2}).shape(), (Shape{3, 2}));
    expect_error([&] { x.reshape({-1, 4}); }, "reshape: [2, 3] has 6 elements, which [-1, 4] cannot hold");
    expect_error([&] { x.reshape({-1, -1}); }, "reshape: [-1, -1] leaves more than one extent open");
    expect_error([&] { x.reshape({5}); }, "reshape: [2, 3] has 6 elements, but [5] has 5");
    expect_error([&] { x[0].expand({-1, 3}); }, "expand: -1 in [-1, 3] keeps an extent, but [3] has no such axis");
    expect_error([&] { x.expand({2, -2}); }, "an extent is -2 in [2, -2]");
    expect_error([] { Tensor::zeros({2, 3, 4}).t(); }, "t: [2, 3, 4] has 3 axes");
}

TEST(RandomTensors, FollowTheSeedThatWasSaidOnce) {
    manual_seed(7);
    const Tensor a = Tensor::randn({3}), b = Tensor::randn({3}), order = Tensor::randperm(100);
    manual_seed(7);
    EXPECT_TRUE(equal(Tensor::randn({3}), a));
    EXPECT_TRUE(equal(Tensor::randn({3}), b));
    EXPECT_FALSE(equal(a, b));
    EXPECT_FALSE(equal(order, Tensor::arange(100)));
    EXPECT_TRUE(equal(sort(order).values, Tensor::arange(100)));
    Generator one{.seed = 3}, other{.seed = 3};
    EXPECT_TRUE(equal(Tensor::rand({3}, one), Tensor::rand({3}, other)));
    EXPECT_TRUE(equal(Tensor::randn({3}, 5), Tensor::randn({3}, 5)));
    const Tensor dice = Tensor::randint(1, 7, {6000}, 1);
    const std::vector<double> counts = bincount(dice).to_vector();
    for (int face = 1; face <= 6; ++face) EXPECT_NEAR(counts[static_cast<std::size_t>(face)], 1000, 130);
    EXPECT_NEAR(Tensor::bernoulli(Tensor::full({10000}, 0.3), 1).sum().item(), 3000, 200);
    expect_error([] { Tensor::bernoulli(tensor({1.5})); }, "bernoulli: a probability is 1.5");
    expect_error([] { Tensor::randint(3, 3, {1}); }, "randint: numbers from 3 to below 3");
}

TEST(Formats, HaveADigitsNumber) {
    const Variable x = tensor({1.0, 2.0, 2.0}) / 3;
    EXPECT_EQ(fmt::format("{:.3}", x), "[0.333 0.667 0.667]");
    EXPECT_EQ(fmt::format("{:.1f}", x.value() * 300), "[100.0 200.0 200.0]");
    EXPECT_EQ(fmt::format("{:.2f}", x[0]), "0.33");
    EXPECT_EQ(fmt::format("{}", x.value() * 3), "[1. 2. 2.]");
    EXPECT_THROW(static_cast<void>(fmt::format(fmt::runtime("{:>9}"), x)), fmt::format_error);
}

TEST(Forms, FunctionsOfAFewOpsAgreeWithTheirFormulas) {
    const Variable a = Tensor::randn({2, 3}, 1, DType::f64), b = Tensor::randn({3, 4}, 2, DType::f64),
                   c = Tensor::randn({4, 2}, 3, DType::f64);
    EXPECT_TRUE(allclose(einsum("ij,jk,ki->", {a, b, c}), sum(Variable(Tensor::eye(2, DType::f64)) * matmul(matmul(a, b), c))));
    EXPECT_TRUE(allclose(einsum("ij,kj->ik", {a, a}), matmul(a, a.t())));
    EXPECT_TRUE(allclose(einsum("ij->j", {a}), a.sum(0)));
    EXPECT_TRUE(allclose(einsum("ij,ij->ij", {a, a}), a * a));
    expect_error([&] { einsum("ij,jk", {a, a}); }, "einsum: \"ij,jk\": j has the extents 3 and 2");
    expect_error([&] { einsum("ii", {a}); }, "names i twice");
    EXPECT_EQ(accuracy(tensor({{1.0, 2.0}, {3.0, 3.0}}), tensor({1, 1})), 0.5);
    const Variable w(tensor({3.0, 4.0}), true);
    sum(w * w).backward();
    EXPECT_EQ(grad(sum(w), {w})[0].to_vector(), (Values{1, 1}));
    EXPECT_EQ(w.grad().to_vector(), (Values{6, 8}));
    EXPECT_NEAR(clip_grad_norm({w}, 5), 10, 1e-6);
    EXPECT_THAT(w.grad().to_vector(), testing::Pointwise(testing::DoubleNear(1e-6), Values{3, 4}));
    const double nan = std::numeric_limits<double>::quiet_NaN();
    EXPECT_EQ(argsort(tensor({2.0, nan, 1.0, 2.0})).to_vector(), (Values{2, 0, 3, 1}));
    EXPECT_EQ(argsort(tensor({2.0, nan, 1.0, 2.0}), 0, true).to_vector(), (Values{0, 3, 2, 1}));
    const double large = logaddexp(tensor({1e4}), tensor({1e4})).item();
    EXPECT_NEAR(large, 1e4 + std::log(2.0), 1e-2);
}

// A list of numbers is no place in the source: the compiler names the argument that it does not fit.
template <class... Arguments>
concept callable_with = requires(const Variable& x, Arguments... arguments) {
    relu(x, {arguments...});
};
static_assert(!callable_with<const char*, int>);
static_assert(!std::is_constructible_v<Where, const char*, int>);

}  // namespace
