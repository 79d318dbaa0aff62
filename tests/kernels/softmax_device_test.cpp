// Masked softmax on every device against the f64 reference.
#include "kernels/softmax/softmax.h"
#include "tests/devices.h"
#include "tests/kernels/softmax_cases.h"

namespace heddle::kernels {
namespace {

constexpr Numbers kExact{Device::cpu, DType::f64};
// Narrow and wide rows, in vectors and one by one.
const std::int64_t kWidths[] = {1, 2, 31, 32, 33, 127, 256, 257, 1024, 1025, 2056};

TEST(SoftmaxDevice, ForwardAndBackwardAreTheFormulasWithEveryKindOfMask) {
    for (const Numbers& numbers : all_numbers())
        for (const std::int64_t cols : kWidths) {
            const Shape shape{2, 3, cols};
            const Tensor x = in(numbers, normal(shape, DType::f64, 5, 0, 3)), dy = in(numbers, normal(shape, DType::f64, 6));
            const Tensor lengths = Tensor::from(
                std::vector<std::int32_t>{static_cast<std::int32_t>(cols), static_cast<std::int32_t>(cols / 2)}, {2});
            for (const Tensor& mask : {Tensor(), random_mask(shape, 7), random_mask({3, cols}, 8)})
                for (const bool reaching : {false, true}) {
                    if (reaching && mask.shape() == shape) continue;
                    const SoftmaxReach reach = reaching ? SoftmaxReach{lengths, true} : SoftmaxReach{};
                    const SoftmaxReach there{in(numbers, reach.lengths), reach.causal};
                    const std::string what = std::to_string(cols) + " columns";
                    const Tensor y = softmax_forward(x, in(numbers, mask), there);
                    const Tensor want = softmax_forward(x.to(Device::cpu).to(DType::f64), mask, reach);
                    expect_close(y, want, numbers, what, {.f64 = 1e-13, .f32 = 2e-6});
                    const std::vector<double> weights = y.to(Device::cpu).to_vector(), wanted = want.to_vector();
                    for (std::size_t i = 0; i < wanted.size(); ++i)
                        ASSERT_TRUE(wanted[i] != 0 || weights[i] == 0) << what << ": what is masked must be exactly zero";
                    expect_close(softmax_backward(dy, y),
                                 softmax_backward(rounded(kExact, dy.to(Device::cpu)), rounded(kExact, y.to(Device::cpu))),
                                 numbers, what, {.f64 = 1e-13, .f32 = 3e-6});
                    expect_same_bits_again(
                        [&] {
                            return std::vector<Tensor>{softmax_forward(x, in(numbers, mask), there), softmax_backward(dy, y)};
                        },
                        what);
                }
        }
}

TEST(SoftmaxDevice, IsSafeForHugeLogitsAndMinusInfinity) {
    for (const Numbers& numbers : all_numbers())
        for (const std::int64_t cols : {4, 1028}) {
            Tensor x = Tensor::full({3, cols}, -kInfinity, DType::f64);
            double* values = x.data<double>();
            values[0] = values[2] = 1e4;
            values[1] = -1e4;
            values[cols + 2] = 3;
            std::vector<double> want(static_cast<std::size_t>(3 * cols), 0.0);
            want[0] = want[2] = 0.5;
            want[static_cast<std::size_t>(cols + 2)] = 1;
            EXPECT_EQ(softmax_forward(in(numbers, x)).to(Device::cpu).to_vector(), want) << to_string(numbers);
        }
}

TEST(SoftmaxDevice, KeepsANanInItsRowAndIgnoresAHiddenOne) {
    for (const Numbers& numbers : all_numbers())
        for (const std::int64_t cols : {8, 1032}) {
            Tensor x = normal({3, cols}, DType::f64, 1), mask = Tensor::full({3, cols}, 1, DType::u8);
            x.data<double>()[cols + 3] = std::nan("");
            x.data<double>()[2 * cols + 1] = kInfinity;
            mask.data<std::uint8_t>()[cols] = 0;
            const std::vector<double> seen = softmax_forward(in(numbers, x), in(numbers, mask)).to(Device::cpu).to_vector();
            for (std::int64_t i = 0; i < 3 * cols; ++i) {
                if (i == cols)
                    EXPECT_EQ(seen[static_cast<std::size_t>(i)], 0) << "masked beside a NaN";
                else
                    EXPECT_EQ(std::isnan(seen[static_cast<std::size_t>(i)]), i >= cols) << to_string(numbers) << " " << i;
            }
            mask.data<std::uint8_t>()[cols + 3] = 0;
            mask.data<std::uint8_t>()[2 * cols + 1] = 0;
            for (const double y : softmax_forward(in(numbers, x), in(numbers, mask)).to(Device::cpu).to_vector())
                EXPECT_FALSE(std::isnan(y));
        }
}

TEST(SoftmaxDevice, TakesRowsThatAreNotAlignedAndNoRows) {
    for (const Numbers& numbers : all_numbers()) {
        for (const std::int64_t cols : {24, 264, 1032}) {
            const Tensor x = in(numbers, normal({3, cols}, DType::f64, 5)), dy = in(numbers, normal({3, cols}, DType::f64, 6));
            const Tensor y = softmax_forward(offset_by_one(x)), exact = softmax_forward(x.to(Device::cpu).to(DType::f64));
            expect_close(y, exact, numbers, "forward", {.f64 = 1e-13, .f32 = 2e-6});
            expect_close(softmax_backward(offset_by_one(dy), offset_by_one(y)),
                         softmax_backward(rounded(kExact, dy.to(Device::cpu)), rounded(kExact, y.to(Device::cpu))), numbers,
                         "backward", {.f64 = 1e-13, .f32 = 3e-6});
        }
        for (const Shape& shape : {Shape({0, 5}), Shape({3, 0})}) {
            const Tensor y = softmax_forward(Tensor::zeros(shape, numbers.dtype, numbers.device));
            EXPECT_EQ(y.shape(), shape);
            EXPECT_EQ(softmax_backward(y, y).shape(), shape);
        }
    }
}

TEST(SoftmaxDevice, LargeRowsAreReadAgain) {
    for (const Numbers& numbers : all_numbers())
        for (const std::int64_t cols : {32768, 65535}) {
            const Tensor x = in(numbers, normal({2, cols}, DType::f64, 5, 0, 3)),
                         dy = in(numbers, normal({2, cols}, DType::f64, 6));
            const Tensor mask = random_mask({2, cols}, 8);
            const Tensor y = softmax_forward(x, in(numbers, mask));
            expect_close(y, softmax_forward(x.to(Device::cpu).to(DType::f64), mask), numbers, "forward",
                         {.f64 = 1e-12, .f32 = 1e-5});
            expect_close(softmax_backward(dy, y),
                         softmax_backward(rounded(kExact, dy.to(Device::cpu)), rounded(kExact, y.to(Device::cpu))), numbers,
                         "backward", {.f64 = 1e-12, .f32 = 1e-5});
        }
}

}  // namespace
}  // namespace heddle::kernels
