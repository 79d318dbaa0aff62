// Ops that are made of other ops' kernels: the same on every device, values by hand, and what they refuse.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "autograd/cases/op_cases.h"
#include "autograd/operators.h"
#include "autograd/ops.h"
#include "tests/devices.h"
#include "tests/support.h"

namespace heddle {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

struct Pass {
    Tensor value;
    std::vector<Tensor> gradients;
};

// The case's value and gradients for a fixed cotangent, on the CPU in f64.
Pass pass_of(const GradientCase& one, const Numbers& numbers) {
    std::vector<Variable> leaves;
    for (const Tensor& input : one.inputs) leaves.emplace_back(in(numbers, input), true);
    const Variable y = one.function(leaves);
    backward(y, in(numbers, Tensor::randn(y.shape(), 5, DType::f64)));
    Pass pass{y.value().to(Device::cpu).to(DType::f64), {}};
    for (const Variable& leaf : leaves) pass.gradients.push_back(leaf.grad().to(Device::cpu).to(DType::f64));
    return pass;
}

void expect_near(const Tensor& given, const Tensor& wanted, double allowed, const std::string& what) {
    ASSERT_EQ(given.shape(), wanted.shape()) << what;
    const std::vector<double> a = given.to_vector(), b = wanted.to_vector();
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], allowed) << what << " at " << i;
}

TEST(ComposedOps, GiveTheSameOnEachDevice) {
    for (const char* table : {"shapes", "losses", "matmul", "linear", "softmax", "log_softmax"})
        for (const GradientCase& one : op_cases(table).proofs()) {
            const Pass wanted = pass_of(one, {Device::cpu, DType::f64});
            for (const Numbers& numbers : all_numbers()) {
                if (numbers.dtype == DType::bf16) continue;
                const double allowed = numbers.dtype == DType::f64 ? 1e-12 : 2e-5;
                const Pass given = pass_of(one, numbers);
                const std::string what = one.op + ", " + one.what + " on " + to_string(numbers);
                expect_near(given.value, wanted.value, allowed, what);
                for (std::size_t i = 0; i < given.gradients.size(); ++i)
                    expect_near(given.gradients[i], wanted.gradients[i], allowed, what + ", gradient");
            }
        }
}

// x [2, 3]: 0 1 2, 3 4 5
Variable counted() { return Tensor::arange(6, DType::f32).reshape({2, 3}); }

// What the lines of tests/heddle/one_liners do not show.
TEST(Shapes, KeepZerosSignsAndMasks) {
    EXPECT_EQ(ops::expand(Tensor::from<std::uint8_t>({1, 0}, {2, 1}), {2, 2}).value().to_vector(),
              (std::vector<double>{1, 1, 0, 0}));
    EXPECT_TRUE(std::signbit(ops::expand(Tensor::from({-0.0f}, {1}), {2}).value().values<float>()[1]));
    EXPECT_EQ(ops::roll(counted(), -7).value().to_vector(), (std::vector<double>{1, 2, 3, 4, 5, 0}));
    EXPECT_EQ(ops::masked_fill(counted(), counted() > 3, -kInfinite).value().to_vector()[5], -kInfinite);
}

TEST(Shapes, OfAScalarAreEmptyBraces) {
    const Variable one = Tensor::full({1}, 3);
    EXPECT_EQ(one.reshape({}).shape(), Shape());
    EXPECT_EQ(one.value().reshape({}).shape(), Shape());
    EXPECT_EQ(one.reshape(1, -1).shape(), Shape({1, 1}));
}

TEST(Shapes, RefuseByName) {
    const Variable x = counted();
    expect_error([&] { ops::squeeze(x, 0); }, "squeeze: axis 0 of x [2, 3] has the extent 2, wanted 1");
    expect_error([&] { ops::transpose(x, 0, 2); }, "transpose: shape [2, 3] has no axis 2");
    expect_error([&] { ops::flip(x, {0, -2}); }, "flip: axis -2 is named twice");
    expect_error([&] { ops::stack({x, ops::transpose(x)}); }, "stack: a part has shape [3, 2], but the first one [2, 3]");
    expect_error([&] { ops::split(x, {1, 1}, 1); }, "split: the parts have 2 places together, but axis 1 of x [2, 3] has 3");
    expect_error([&] { ops::split(x, {2, 2}, 1); }, "split: a part of 2 places, where axis 1 of x [2, 3] has 1 left");
    expect_error([&] { ops::split(x, 0); }, "split: parts of 0 places");
    expect_error([&] { ops::chunk(x, 0); }, "chunk: 0 parts");
    expect_error([&] { ops::expand(x, {3, 3}); }, "expand");
    expect_error([&] { ops::expand(x, {3}); }, "expand: x has shape [2, 3], which does not broadcast to [3]");
    expect_error([&] { ops::repeat(x, {2}); }, "repeat: x has shape [2, 3], but [2] times name fewer axes");
    expect_error([&] { ops::tril(ops::flatten(x)); }, "tril: x has shape [6], wanted at least two axes");
    expect_error([&] { ops::masked_fill(x, Tensor::zeros({2, 2, 3}, DType::u8), 1); }, "the mask has shape [2, 2, 3]");
    expect_error([&] { ops::one_hot(Tensor::from<std::int32_t>({3}, {1}), 3); }, "one_hot: an index is 3");
    expect_error(
        [&] {
            ops::gather(x, 1, Tensor::from<std::int32_t>({3, 0}, {2, 1}));
        },
        "gather: an index is 3, but axis 1 of x [2, 3] has 3 places");
    expect_error([&] { ops::gather(x, 1, Tensor::zeros({3, 1}, DType::i32)); }, "wanted equal extents but for axis 1");
    expect_error([&] { ops::matmul(x, Tensor::full({}, 2)); },
                 "matmul: a has shape [2, 3] and b [], wanted at least one axis each");
}

TEST(Losses, LeaveOutWhatDoesNotCount) {
    const Variable logits(Tensor::from({0.0f, 1e4f, -1e4f, 1.0f, 2.0f, 3.0f}, {2, 3}), true);
    const Tensor targets = Tensor::from<std::int32_t>({1, -1}, {2});
    const Variable loss = ops::nll_loss(ops::log_softmax(logits), targets);
    EXPECT_EQ(loss.item(), 0);
    EXPECT_EQ(ops::cross_entropy(logits, targets).item(), 0);
    // An impossible class whose target is 0 adds nothing.
    const Variable log_p = Tensor::from({0.0f, -std::numeric_limits<float>::infinity()}, {1, 2});
    EXPECT_EQ(ops::kl_div(log_p, Tensor::from({1.0f, 0.0f}, {1, 2})).item(), 0);
    EXPECT_EQ(ops::nll_loss(logits, Tensor::from<std::int32_t>({-1, -1}, {2})).item(), 0);
}

TEST(Losses, RefuseByName) {
    const Variable x = counted();
    expect_error(
        [&] {
            ops::mse_loss(x, Tensor::zeros({2, 1}));
        },
        "mse_loss: x has shape [2, 3], but the target [2, 1]; wanted one shape");
    expect_error([&] { ops::huber_loss(x, x, 0); }, "huber_loss: delta is 0");
    expect_error([&] { ops::smooth_l1_loss(x, x, std::nan("")); }, "smooth_l1_loss: beta is nan");
    expect_error([&] { ops::nll_loss(x, Tensor::from<std::int32_t>({1, 3}, {2})); }, "nll_loss: target 1 is 3");
    expect_error([&] { ops::nll_loss(x, Tensor::zeros({2}, DType::i32), {.label_smoothing = 0.1}); }, "cross_entropy has it");
    expect_error([&] { ops::bce_with_logits(x, x, {.weight = Tensor::zeros({2})}); }, "bce_with_logits");
    expect_error([&] { ops::mse_loss(Tensor::zeros({}), Tensor::zeros({}), Reduction::batch_mean); }, "there is no batch");
}

}  // namespace
}  // namespace heddle
