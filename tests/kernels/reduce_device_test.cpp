// Maxima of equal numbers and long sums on every device.
#include "kernels/reduce/reduce.h"
#include "tests/devices.h"

namespace heddle::kernels {
namespace {

TEST(ReduceOnDevices, TakesTheFirstOfEqualMaximaAndNaNBeforeAll) {
    const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    for (const Numbers& numbers : all_numbers())
        for (const std::int64_t n : {40, 5000})
            for (const std::int64_t inner : {1, 3}) {
                Tensor x = Tensor::full({4, n, inner}, -inf, DType::f64);  // line 0: all alike
                double* at = x.mutable_data<double>();
                for (std::int64_t k = 0; k < n; ++k)
                    for (std::int64_t j = 0; j < inner; ++j) {
                        at[(n + k) * inner + j] = k % 7 == 5 ? 2 : 1;  // the first of many
                        at[(2 * n + k) * inner + j] =
                            k == 33 || k == n - 2 ? nan : static_cast<double>(k % 100);  // the first NaN
                        at[(3 * n + k) * inner + j] = k == n - 1 ? 3 : -3;               // the last element
                    }
                const Extremum got = max_forward(in(numbers, x), 1), want = max_forward(rounded(numbers, x), 1);
                expect_close(got.y, want.y, numbers, "max with ties");
                EXPECT_TRUE(same_bits(got.indices.to(Device::cpu), want.indices))
                    << n << " " << inner << " on " << to_string(numbers);
            }
}

// The products of the others are within the range of f32 where those on one side are not.
TEST(ReduceOnDevices, ProductsMayLeaveTheRangeOnTheWay) {
    std::vector<double> steps(200, 0.1);
    std::fill(steps.begin() + 100, steps.end(), 10);
    for (const Numbers& numbers : all_numbers())
        for (const std::int64_t inner : {1, 3}) {
            const auto columns = [&](const std::vector<double>& line) {
                Tensor x = Tensor::empty({std::ssize(line), inner}, DType::f64);
                for (std::int64_t i = 0; i < x.numel(); ++i)
                    x.mutable_data<double>()[i] = line[static_cast<std::size_t>(i / inner)];
                return in(numbers, x);
            };
            const Tensor one = in(numbers, Tensor::full({inner}, 1, DType::f64));
            const Tensor x = columns({1e30, 1e30, 0, 1e-30, 1e-30}), dx = prod_backward(one, x, 0).to(Device::cpu).to(DType::f64);
            EXPECT_EQ(prod_forward(x, 0).to(Device::cpu).to_vector(), std::vector<double>(static_cast<std::size_t>(inner), 0));
            for (std::int64_t i = 0; i < dx.numel(); ++i)
                EXPECT_NEAR(dx.data<double>()[i], i / inner == 2 ? 1 : 0, 0.02) << i << " on " << to_string(numbers);
            const Tensor powers = columns(steps), back = prod_backward(one, powers, 0).to(Device::cpu).to(DType::f64);
            for (std::int64_t i = 0; i < back.numel(); ++i) {
                const double want = back.numel() / 2 > i ? 10 : 0.1;
                EXPECT_NEAR(back.data<double>()[i], want, (numbers.dtype == DType::bf16 ? 0.2 : 1e-4) * want)
                    << i << " on " << to_string(numbers);
            }
        }
}

// Enough sums to fill a chip, and each so long that it is cut into chunks all the same.
TEST(ReduceOnDevices, LargeNumbersOfLongRowsAreCut) {
    if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    Tensor x = Tensor::full({513, 65540}, 1, DType::f32, Device::cuda);
    x.slice(512, 513).fill_(-2);
    const std::vector<double> sums = sum_forward(x, 1).to(Device::cpu).to_vector();
    ASSERT_EQ(sums.size(), 513u);
    for (std::size_t row = 0; row < sums.size(); ++row) ASSERT_EQ(sums[row], row == 512 ? -131080 : 65540) << row;
}

}  // namespace
}  // namespace heddle::kernels
