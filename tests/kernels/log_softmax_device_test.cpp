// Log-softmax on every device against the f64 reference.
#include "kernels/log_softmax/log_softmax.h"
#include "tests/devices.h"

namespace heddle::kernels {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Numbers kExact{Device::cpu, DType::f64};
const std::int64_t kWidths[] = {1, 2, 31, 32, 33, 127, 256, 257, 1024, 1025, 2056};

void expect_both(const Tensor& x, const Tensor& dy, const Numbers& numbers, const Allowed& allowed) {
    const std::string what = std::to_string(x.cols()) + " columns";
    const Tensor y = log_softmax_forward(x);
    expect_close(y, log_softmax_forward(rounded(kExact, x.to(Device::cpu))), numbers, what, allowed);
    expect_close(log_softmax_backward(dy, y),
                 log_softmax_backward(rounded(kExact, dy.to(Device::cpu)), rounded(kExact, y.to(Device::cpu))), numbers,
                 what + ", backward", allowed);
    expect_same_bits_again([&] { return std::vector<Tensor>{log_softmax_forward(x), log_softmax_backward(dy, y)}; }, what);
}

TEST(LogSoftmaxDevice, ForwardAndBackwardAreTheFormulas) {
    for (const Numbers& numbers : all_numbers())
        for (const std::int64_t cols : kWidths) {
            const Tensor x = in(numbers, normal({5, cols}, DType::f64, 5, 0, 3)),
                         dy = in(numbers, normal({5, cols}, DType::f64, 6));
            expect_both(x, dy, numbers, {.f64 = 1e-13, .f32 = 2e-6});
        }
}

TEST(LogSoftmaxDevice, TakesRowsThatAreNotAlignedAndNoRows) {
    for (const Numbers& numbers : all_numbers()) {
        for (const std::int64_t cols : {24, 264, 1032}) {
            const Tensor x = in(numbers, normal({3, cols}, DType::f64, 5)), dy = in(numbers, normal({3, cols}, DType::f64, 6));
            expect_both(offset_by_one(x), offset_by_one(dy), numbers, {.f64 = 1e-13, .f32 = 2e-6});
        }
        for (const Shape& shape : {Shape({0, 5}), Shape({3, 0})}) {
            const Tensor y = log_softmax_forward(Tensor::zeros(shape, numbers.dtype, numbers.device));
            EXPECT_EQ(y.shape(), shape);
            EXPECT_EQ(log_softmax_backward(y, y).shape(), shape);
        }
    }
}

TEST(LogSoftmaxDevice, KeepsInfinitiesAndNans) {
    for (const Numbers& numbers : all_numbers())
        for (const std::int64_t cols : {8, 1032}) {
            Tensor x = normal({4, cols}, DType::f64, 1);
            x.data<double>()[3] = -kInfinity;
            std::fill_n(x.data<double>() + cols, cols, -kInfinity);
            x.data<double>()[2 * cols + 1] = kInfinity;
            x.data<double>()[3 * cols + 1] = std::nan("");
            const Tensor y = log_softmax_forward(in(numbers, x));
            const std::vector<double> values = y.to(Device::cpu).to_vector();
            EXPECT_EQ(values[3], -kInfinity);
            for (std::int64_t i = cols; i < 4 * cols; ++i) {
                const double value = values[static_cast<std::size_t>(i)];
                EXPECT_TRUE(i < 2 * cols ? value == -kInfinity : std::isnan(value))
                    << to_string(numbers) << " " << i << ": " << value;
            }
            const Tensor dy = in(numbers, normal({4, cols}, DType::f64, 2));
            for (const double g : log_softmax_backward(dy, y).to(Device::cpu).slice(1, 2).to_vector()) EXPECT_EQ(g, 0);
        }
}

TEST(LogSoftmaxDevice, LargeRowsAreReadAgain) {
    for (const Numbers& numbers : all_numbers())
        for (const std::int64_t cols : {32768, 65535}) {
            const Tensor x = in(numbers, normal({2, cols}, DType::f64, 5, 0, 3)),
                         dy = in(numbers, normal({2, cols}, DType::f64, 6));
            expect_both(x, dy, numbers, {.f64 = 1e-12, .f32 = 1e-5});
        }
}

}  // namespace
}  // namespace heddle::kernels
