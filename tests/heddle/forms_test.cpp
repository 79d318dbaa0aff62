// Forms of tensors and Variables: what they do beside the lines of one_liners_test, and what they refuse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <heddle/heddle.h>

#include <cmath>
#include <cstddef>
#include <memory>
#include <utility>

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

// Whether a temporary may be assigned to, or changed by +=.
template <class T>
concept assignable = requires(T&& x, const Tensor& y) {
    std::forward<T>(x) = y;
};
template <class T>
concept addable = requires(T&& x) {
    std::forward<T>(x) += 1;
};
template <class T>
concept fillable = requires(T&& x) {
    std::forward<T>(x).zero_();
};
template <class T>
concept part_assignable = requires(T&& x) {
    std::forward<T>(x)[0] = 1;
};
template <class = void>
Tensor& some();
template <class = void>
const Tensor& fixed();
template <class = void>
Variable& variable();
static_assert(assignable<decltype(some()[0])> && addable<decltype(some()[0])> && fillable<decltype(some()[0])>);
static_assert(assignable<decltype(some()[some()])> && addable<decltype(some()[some()])>);
static_assert(assignable<decltype(some().index({Slice(), 0}))> && addable<decltype(some().index({Slice(), 0}))>);
static_assert(!fillable<decltype(some()[some()])> && !part_assignable<decltype(some()[some()])>);
static_assert(part_assignable<decltype(some().view(-1))> && part_assignable<decltype(some().slice(0, 1).squeeze())>);
static_assert(fillable<decltype(some().slice(0, 1))> && fillable<decltype(some().reshape(2, -1))>);
// Copies, and parts that may be copies.
#define HEDDLE_COPY(...)                                                                                                       \
    static_assert(!assignable<decltype(__VA_ARGS__)> && !addable<decltype(__VA_ARGS__)> && !fillable<decltype(__VA_ARGS__)> && \
                  !part_assignable<decltype(__VA_ARGS__)>)
HEDDLE_COPY(some().t());
HEDDLE_COPY(some().select(0, 1));
HEDDLE_COPY(some().narrow(0, 0, 1));
HEDDLE_COPY(some().slice(1, 0, 1));
HEDDLE_COPY(some().chunk(2)[0]);
HEDDLE_COPY(some().split(2)[0]);
HEDDLE_COPY(some().unbind()[0]);
HEDDLE_COPY(some().permute({1, 0}));
HEDDLE_COPY(some().expand({2, 2}));
// A const handle has const views.
HEDDLE_COPY(fixed()[0]);
HEDDLE_COPY(fixed()[some()]);
HEDDLE_COPY(fixed().index({0}));
HEDDLE_COPY(fixed().view(-1));
HEDDLE_COPY(fixed().reshape({-1}));
HEDDLE_COPY(fixed().slice(0, 1));
HEDDLE_COPY(fixed().flatten());
HEDDLE_COPY(fixed().squeeze());
HEDDLE_COPY(fixed().unsqueeze(0));
#undef HEDDLE_COPY
static_assert(!std::is_assignable_v<Variable, Variable> && std::is_assignable_v<Variable&, Variable>);
static_assert(!std::is_assignable_v<decltype(variable()[0]), Variable> && !addable<decltype(variable()[0])>);

TEST(InPlace, CopiesOfPlacesWriteBack) {
    Tensor x = matrix();
    const Tensor mask = x > 4;
    x[mask] = 0;
    EXPECT_EQ(x.to_vector(), (Values{1, 2, 3, 4, 0, 0}));
    x[mask] += 1;
    x[mask] -= 3;
    EXPECT_EQ(x.to_vector(), (Values{1, 2, 3, 4, -2, -2}));
    x[mask] = tensor({7.0, 8.0});
    x.index({Slice(), 0}) = 9;
    EXPECT_EQ(x.to_vector(), (Values{9, 2, 3, 9, 7, 8}));
    x.index({Slice(), 0}) *= 2;
    x.index({Slice(), 1}) /= 2;
    x[tensor({1})] = x[tensor({0})];
    EXPECT_EQ(x.to_vector(), (Values{18, 1, 3, 18, 1, 3}));
    x.index({tensor({0, 1}), tensor({2, 0})}) = tensor({5.0, 6.0});
    EXPECT_EQ(x.to_vector(), (Values{18, 1, 5, 6, 1, 3}));
    Tensor part = x[mask];
    part += 100;
    part = part * 2;
    EXPECT_EQ(x.to_vector(), (Values{18, 1, 5, 6, 1, 3}));
    auto named = x[mask];
    named += 100;
    EXPECT_EQ(named.to_vector(), (Values{101, 103}));
    EXPECT_EQ(x.to_vector(), (Values{18, 1, 5, 6, 1, 3}));
    x.view(-1)[5] = 4;
    x.slice(0, 1).squeeze()[0] = 2;
    EXPECT_EQ(x.to_vector(), (Values{2, 1, 5, 6, 1, 4}));
    Tensor counts = tensor({1, 2});
    expect_error([&] { counts[tensor({0})] /= 2; }, "/=: the result is [1] f32, but it is written into [1] i32");
    expect_error([&] { x[mask] += Tensor::zeros({3, 2}); }, "+=: the result is [3, 2] f32, but it is written into [2] f32");
}

TEST(InPlace, ATensorRefusesToLoseAGradient) {
    const Variable w(matrix(), true);
    Tensor x = matrix();
    expect_error([&] { x += w; }, "+=: the right side requires a gradient, which a tensor on the left cannot record");
    expect_error([&] { x[0] *= w[0]; }, "*=: the right side requires a gradient");
    expect_error([&] { x[x > 4] -= w[0][0]; }, "-=: the right side requires a gradient");
    expect_error([&] { x.add(w); }, "tensor: a member of a tensor records nothing, but its operand requires a gradient");
    const NoGrad no_grad;
    x += w;
    EXPECT_EQ(x.to_vector(), (Values{2, 4, 6, 8, 10, 12}));
}

TEST(InPlace, VersionErrorsNameTheLineOfTheChange) {
    Tensor x = matrix();
    const auto named = [&](const auto& change) {
        x.bump_version({});
        change();
        EXPECT_STREQ(x.changed_at().file_name(), "tests/heddle/forms_test.cpp");
    };
    named([&] { x[0] = 1; });
    named([&] { x[0] = x[1]; });
    named([&] { x[x > 2] = 0; });
    named([&] { x.index({0}) += 1; });
    named([&] { x[{0, 1}] -= 1; });
}

TEST(Places, OfAVariableNameTheLineOfTheCall) {
    const AnomalyMode anomaly;
    const Variable w(tensor({{std::nan(""), 1.0}, {2.0, 3.0}}), true);
    const auto here = [](const auto& line) { expect_error(line, " at tests/heddle/forms_test.cpp:"); };
    here([&] { w[0]; });
    here([&] { w[{0, 1}]; });
    here([&] { w[tensor({0})]; });
    here([&] { w.reshape(2, -1); });
    here([&] { w.view(-1); });
    here([&] { w.slice(0, 1); });
    here([&] { w.slice(0); });
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

TEST(Integers, KeepTheirValueOrAreRefused) {
    const char* const too_large = "tensor: the number 3000000000 does not fit into i32";
    expect_error([] { tensor(3000000000L); }, too_large);
    expect_error([] { tensor({3000000000L}); }, too_large);
    expect_error([] { tensor({3e9}, DType::i32); }, too_large);
    expect_error([] { tensor({{1, 256}}, DType::u8); }, "tensor: the number 256 does not fit into u8");
    expect_error([] { tensor({-0.5, -1.0}, DType::u8); }, "tensor: the number -1 does not fit into u8");
    expect_error([] { tensor({std::nan("")}, DType::i32); }, "tensor: the number nan does not fit into i32");
    expect_error([] { tensor({~0ULL}); }, "does not fit into 63 bits");
    EXPECT_EQ(tensor({3000000000L}, DType::f64).item(), 3e9);
    EXPECT_EQ(tensor(3000000000L, DType::f64).item(), 3e9);
    EXPECT_EQ(tensor({1LL, 2LL}).to_vector(), (Values{1, 2}));
    EXPECT_EQ(tensor({4000000000U}, DType::f64).item(), 4e9);
    EXPECT_EQ(tensor({std::size_t{3}, std::size_t{4}}).dtype(), DType::i32);
    EXPECT_EQ(tensor({short{-3}}).to_vector(), (Values{-3}));
    EXPECT_EQ(tensor({2.75, -2.75}, DType::i32).to_vector(), (Values{2, -2}));
    EXPECT_EQ(Tensor::arange(256, DType::u8)[255].item(), 255);
    expect_error([] { Tensor::arange(300, DType::u8); }, "arange: the number 299 does not fit into u8");
    expect_error([] { Tensor::arange((std::int64_t{1} << 31) + 1); }, "arange: the number 2147483648 does not fit into i32");
    EXPECT_EQ(Tensor::arange(0, 3e9, 1e9, DType::i32).numel(), 3);
    expect_error([] { Tensor::arange(1e9, 4e9, 1e9, DType::i32); }, "arange: the number 3000000000 does not fit into i32");
    EXPECT_EQ(Tensor::arange(2.5).to_vector(), (Values{0, 1, 2}));
    EXPECT_EQ(Tensor::arange(2.5).dtype(), DType::f32);
}

TEST(Memory, OfOthersIsChecked) {
    const auto owner = std::make_shared<int>();
    alignas(8) std::byte bytes[32] = {};
    EXPECT_EQ(Tensor::over(bytes, {2, 4}, DType::f32, owner).numel(), 8);
    expect_error([&] { Tensor::over(nullptr, {2}, DType::f32, owner); }, "tensor: 2 elements of shape [2] at a null pointer");
    expect_error([&] { Tensor::over(bytes + 2, {2}, DType::f32, owner); }, "tensor: the memory is not aligned to the 4 bytes");
    expect_error([&] { Tensor::over(bytes, {2}, DType::f32, nullptr); }, "without an owner");
    expect_error([&] { Tensor::over(bytes, {std::int64_t{1} << 60}, DType::f32, owner); }, "is larger than any memory");
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
    EXPECT_EQ(Tensor::arange(24).reshape({2, 3, 4}).index({0, Ellipsis, 1}).to_vector(), (Values{1, 5, 9}));
    // Axes that tensors name, but are no neighbours, come first.
    EXPECT_EQ(Tensor::arange(24).reshape({2, 3, 2, 2}).index({Slice(), tensor({2, 0}), Slice(), tensor({1, 0})}).to_vector(),
              (Values{9, 11, 21, 23, 0, 2, 12, 14}));
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

TEST(Places, OfSeveralTensorsBelongTogether) {
    const Variable w(Tensor::arange(24, DType::f64).reshape(2, 3, 4), true);
    const Tensor rows = tensor({0, 1, -1}), cols = tensor({2, -3, 1});
    EXPECT_EQ(w.index({rows, cols}).shape(), (Shape{3, 4}));
    EXPECT_EQ(w.index({rows, cols, 1}).to_vector(), (Values{9, 13, 17}));
    EXPECT_EQ(w.index({rows, Slice(), cols}).shape(), (Shape{3, 3}));
    EXPECT_EQ(w.index({rows, Slice(), cols}).to_vector(), (Values{2, 6, 10, 13, 17, 21, 13, 17, 21}));
    EXPECT_EQ(w.index({Slice(), cols, tensor({3, 0, 0})}).to_vector(), (Values{11, 0, 4, 23, 12, 16}));
    EXPECT_EQ(w.index({tensor({{0}, {1}}), tensor({{0, 2}})}).shape(), (Shape{2, 2, 4}));
    EXPECT_EQ(w.index({rows, tensor({1}), cols}).to_vector(), (Values{6, 17, 17}));
    EXPECT_EQ(w.index({0, tensor({{2, 1}}), 3}).shape(), (Shape{1, 2}));
    const Variable logits(matrix().to(DType::f64), true);
    (-log_softmax(logits, 1).index({Tensor::arange(2), tensor({2, 0})})).mean().backward();
    EXPECT_NEAR(logits.grad().to_vector()[2], (std::exp(3.0) / (std::exp(1.0) + std::exp(2.0) + std::exp(3.0)) - 1) / 2, 1e-12);
    w.index({tensor({1, 1, 0}), tensor({0, 0, 2})}).sum().backward();
    const Values gradient = w.grad().to_vector();
    EXPECT_EQ(gradient[12], 2);
    EXPECT_EQ(gradient[11], 1);
    EXPECT_EQ(w.grad().sum().item(), 12);
    expect_error([&] { w.index({rows, tensor({0, 3, 0})}); }, "index: no place 3 in axis 1 of extent 3");
    expect_error([&] { w.index({rows, tensor({0, 1})}); }, "do not broadcast");
    expect_error([&] { w.index({rows, tensor({true, false, true})}); }, "index: a mask beside another tensor");
    expect_error([&] { w.index({tensor({0.5})}); }, "index: a tensor of places is f32, wanted i32 or a mask u8");
}

TEST(Places, ShareMemoryWhereTheyLieInOnePiece) {
    const Tensor x = matrix(), one = x.reshape(1, 2, 3);
    EXPECT_TRUE(x.select(0, 1).shares_storage(x));
    EXPECT_TRUE(x.narrow(0, 0, 1).shares_storage(x));
    EXPECT_TRUE(x.slice(0, 0, 1).shares_storage(x));
    EXPECT_TRUE(x.index({0, Slice(1)}).shares_storage(x));
    EXPECT_TRUE(x.split(1)[1].shares_storage(x) && x.chunk(2)[0].shares_storage(x) && x.unbind()[0].shares_storage(x));
    EXPECT_TRUE(one.select(1, 1).shares_storage(x));
    EXPECT_EQ(one.select(1, 1).to_vector(), (Values{4, 5, 6}));
    EXPECT_EQ(x.unbind()[1].to_vector(), (Values{4, 5, 6}));
    EXPECT_FALSE(x.select(1, 0).shares_storage(x));
    EXPECT_FALSE(x.index({tensor({0})}).shares_storage(x));
    EXPECT_FALSE(x.roll(3, 1).shares_storage(x));
    EXPECT_FALSE(x.roll(6).shares_storage(x));
    EXPECT_FALSE(one.flip(0).shares_storage(x));
    EXPECT_FALSE(x.repeat({1, 1}).shares_storage(x));
    EXPECT_FALSE(repeat_interleave(x, 1, 0).value().shares_storage(x));
    expect_error([&] { x.narrow(1, 0, -1); }, "narrow: -1 places from 0 on of axis 1 of [2, 3]");
    expect_error([&] { x.narrow(1, -4, 1); }, "narrow: 1 places from -4 on of axis 1 of [2, 3]");
    expect_error([&] { x.narrow(1, 2, 2); }, "narrow: 2 places from 2 on of axis 1 of [2, 3]");
    expect_error([&] { x.split({1, 1}, 1); }, "split: the parts have 2 places together, but axis 1 of x [2, 3] has 3");
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
    const Tensor rounded = Tensor::rand({20000}, 1, DType::bf16);
    EXPECT_EQ(rounded.to(DType::f32).max().item(), 1 - 0x1p-8);
    expect_error([] { Tensor::rand({2}, DType::i32); }, "rand: the numbers are no integers, but the dtype is i32");
    expect_error([] { Tensor::randn({2}, DType::u8); }, "randn: the numbers are no integers, but the dtype is u8");
    expect_error([] { Tensor::bernoulli(tensor({1.5})); }, "bernoulli: a probability is 1.5");
    expect_error([] { Tensor::randint(3, 3, {1}); }, "randint: numbers from 3 to below 3");
}

TEST(Formats, HaveADigitsNumber) {
    const Variable x = tensor({1.0, 2.0, 2.0}) / 3;
    EXPECT_EQ(fmt::format("{:.3}", x), "[0.333 0.667 0.667]");
    EXPECT_EQ(fmt::format("{:.1f}", x.value() * 300), "[100.0 200.0 200.0]");
    EXPECT_EQ(fmt::format("{:.2f}", x[0]), "0.33");
    EXPECT_EQ(fmt::format("{:.3}", tensor(1234.56789)), "1234.568");
    EXPECT_EQ(fmt::format("{:.3} {:.2}", tensor(2.0), tensor(0.5)), "2.0 0.5");
    EXPECT_EQ(fmt::format("{:.2}", tensor(0.00012345)), "0.0");
    EXPECT_EQ(fmt::format("{:.2}", tensor(0.0000123456)), "1.23e-05");
    EXPECT_EQ(fmt::format("{:.2}", x.value()[x.value() > 0.5]), "[0.67 0.67]");
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
