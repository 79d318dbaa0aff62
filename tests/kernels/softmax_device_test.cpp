// Masked softmax on every device: logits and masks that other ops do not have.
#include "kernels/softmax/softmax.h"
#include "tests/devices.h"

namespace heddle::kernels {
namespace {

using cases::kInfinity;
using cases::random_mask;

// Once each way, for a reader who steps through the kernels (docs/cuda.md); every_op_device_test has all sizes.
TEST(SoftmaxDevice, GoesForwardAndBackward) {
    for (const Numbers& numbers : all_numbers())
        for (const std::int64_t cols : {33, 1032}) {
            const Tensor x = normal({2, 3, cols}, DType::f64, 5, 0, 3), dy = normal(x.shape(), DType::f64, 6);
            const Tensor mask = random_mask({3, cols}, 8), want = softmax_forward(rounded(numbers, x), mask);
            expect_close(softmax_forward(in(numbers, x), in(numbers, mask)), want, numbers, "forward",
                         {.f64 = 1e-13, .f32 = 2e-6});
            expect_close(softmax_backward(in(numbers, dy), in(numbers, want)),
                         softmax_backward(rounded(numbers, dy), rounded(numbers, want)), numbers, "backward",
                         {.f64 = 1e-13, .f32 = 3e-6});
        }
}

TEST(SoftmaxDevice, IsSafeForHugeLogitsAndMinusInfinity) {
    for (const Numbers& numbers : all_numbers())
        for (const std::int64_t cols : {4, 1028}) {
            Tensor x = Tensor::full({3, cols}, -kInfinity, DType::f64);
            double* values = x.mutable_data<double>();
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
            x.mutable_data<double>()[cols + 3] = std::nan("");
            x.mutable_data<double>()[2 * cols + 1] = kInfinity;
            mask.mutable_data<std::uint8_t>()[cols] = 0;
            const std::vector<double> seen = softmax_forward(in(numbers, x), in(numbers, mask)).to(Device::cpu).to_vector();
            for (std::int64_t i = 0; i < 3 * cols; ++i) {
                if (i == cols)
                    EXPECT_EQ(seen[static_cast<std::size_t>(i)], 0) << "masked beside a NaN";
                else
                    EXPECT_EQ(std::isnan(seen[static_cast<std::size_t>(i)]), i >= cols) << to_string(numbers) << " " << i;
            }
            mask.mutable_data<std::uint8_t>()[cols + 3] = 0;
            mask.mutable_data<std::uint8_t>()[2 * cols + 1] = 0;
            for (const double y : softmax_forward(in(numbers, x), in(numbers, mask)).to(Device::cpu).to_vector())
                EXPECT_FALSE(std::isnan(y));
        }
}

}  // namespace
}  // namespace heddle::kernels
