#include "kernels/softmax/softmax.h"

#include "autograd/cases/kernel_case.h"
#include "autograd/ops.h"
#include "tests/numbers.h"
#include "tests/support.h"

namespace heddle::kernels {
namespace {

using cases::kInfinity;
using cases::random_mask;

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
                        whole.mutable_data<std::uint8_t>()[i] = allowed ? 1 : 0;
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

// A bias of minus infinity hides like the mask, but for a NaN.
TEST(Softmax, ABiasOfMinusInfinityIsAMask) {
    const Tensor x = normal({2, 3, 37}, DType::f64, 5, 0, 3), mask = random_mask({3, 37}, 8);
    Tensor bias = Tensor::zeros({3, 37}, DType::f64);
    for (std::int64_t i = 0; i < mask.numel(); ++i)
        if (mask.data<std::uint8_t>()[i] == 0) bias.mutable_data<double>()[i] = -kInfinity;
    EXPECT_TRUE(same_bits(softmax_forward(x, {}, {}, {.bias = bias}), softmax_forward(x, mask)));
}

TEST(Softmax, NamesWhatDoesNotFit) {
    const Tensor x = Tensor::zeros({2, 3, 4}, DType::f32);
    expect_error(
        [&] {
            softmax_forward(x, Tensor::zeros({2, 3}, DType::u8));
        },
        "softmax: mask has shape [2, 3], but x has shape [2, 3, 4]; wanted the same shape or that of the last two axes");
    for (const Shape& turned : {Shape{4, 3}, Shape{2, 4, 3}, Shape{3, 2, 4}, Shape{4}})
        expect_error([&] { softmax_forward(x, Tensor::zeros(turned, DType::u8)); },
                     "softmax: mask has shape " + turned.str() + ", but x has shape [2, 3, 4]");
    expect_error([&] { softmax_forward(x, Tensor::zeros({3, 4}, DType::f32)); }, "softmax: mask is f32, wanted u8");
    expect_error([] { softmax_forward(Tensor::zeros({}, DType::f32)); }, "softmax: x is a scalar");
    expect_error([] { softmax_forward(Tensor::zeros({2}, DType::i32)); }, "i32");
    expect_error(
        [&] {
            softmax_forward(x, {}, {}, {.bias = Tensor::zeros({2, 4}, DType::f32)});
        },
        "softmax: bias has shape [2, 4], but x has shape [2, 3, 4]; wanted the shape of its last axes");
    expect_error(
        [&] {
            softmax_forward(x, {}, {}, {.bias = Tensor::zeros({3, 4}, DType::f64)});
        },
        "softmax: bias is f64, wanted f32");
    expect_error([&] { softmax_backward(Tensor::zeros({2}, DType::f32), x); }, "dy has shape [2], wanted [2, 3, 4]");
}

}  // namespace
}  // namespace heddle::kernels
