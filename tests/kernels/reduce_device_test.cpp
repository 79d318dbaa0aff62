// Sums, means and maxima on every device, against the f64 reference.
#include "kernels/reduce/reduce.h"
#include "tests/devices.h"

namespace heddle::kernels {
namespace {

// Rows for a warp and for a block, whole vectors and not; columns for one tile and for several; axes that are cut into chunks,
// both ways.
const Shape kShapes[] = {{1},       {33, 31}, {3, 32},   {2, 1025}, {9, 1, 16}, {2, 3, 4},    {2, 33, 5}, {3, 9, 40},
                         {5, 0, 3}, {0, 4},   {1, 5000}, {2, 8208}, {200, 3},   {1, 150, 24}, {4, 65, 2}};

// Sums of numbers of either sign: the error belongs to the sum of their magnitudes.
constexpr Allowed kAllowed{.f64 = 1e-12, .f32 = 1e-5};

TEST(ReduceOnDevices, SumsAveragesAndMaximisesOverEveryAxis) {
    for (const Numbers& numbers : all_numbers())
        for (const Shape& shape : kShapes)
            for (int axis = 0; axis < shape.rank(); ++axis)
                for (const bool offset : {false, true}) {
                    if (offset && (numbers.dtype == DType::f64 || shape.numel() > 2000)) continue;
                    const std::string what =
                        shape.str() + " over axis " + std::to_string(axis) + (offset ? ", offset by one" : "");
                    const Tensor x = normal(shape, DType::f64, 1, 0.5), exact = rounded(numbers, x);
                    const Tensor given = offset ? offset_by_one(in(numbers, x)) : in(numbers, x);
                    expect_close(sum_forward(given, axis), sum_forward(exact, axis), numbers, "sum of " + what, kAllowed);
                    if (shape[axis] == 0) continue;
                    expect_close(mean_forward(given, axis, true), mean_forward(exact, axis, true), numbers, "mean of " + what,
                                 kAllowed);
                    const Maximum got = max_forward(given, axis), want = max_forward(exact, axis);
                    expect_close(got.y, want.y, numbers, "max of " + what, {.f64 = 0, .f32 = 0}, want.y);
                    EXPECT_TRUE(same_bits(got.indices.to(Device::cpu), want.indices))
                        << "max of " << what << " on " << to_string(numbers);
                }
}

TEST(ReduceOnDevices, TakesTheFirstOfEqualMaximaAndNaNBeforeAll) {
    const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    for (const Numbers& numbers : all_numbers())
        for (const std::int64_t n : {40, 5000})
            for (const std::int64_t inner : {1, 3}) {
                Tensor x = Tensor::full({4, n, inner}, -inf, DType::f64);  // line 0: all alike
                double* at = x.data<double>();
                for (std::int64_t k = 0; k < n; ++k)
                    for (std::int64_t j = 0; j < inner; ++j) {
                        at[(n + k) * inner + j] = k % 7 == 5 ? 2 : 1;  // the first of many
                        at[(2 * n + k) * inner + j] =
                            k == 33 || k == n - 2 ? nan : static_cast<double>(k % 100);  // the first NaN
                        at[(3 * n + k) * inner + j] = k == n - 1 ? 3 : -3;               // the last element
                    }
                const Maximum got = max_forward(in(numbers, x), 1), want = max_forward(rounded(numbers, x), 1);
                expect_close(got.y, want.y, numbers, "max with ties");
                EXPECT_TRUE(same_bits(got.indices.to(Device::cpu), want.indices))
                    << n << " " << inner << " on " << to_string(numbers);
            }
}

TEST(ReduceOnDevices, SpreadsTheGradientBack) {
    for (const Numbers& numbers : all_numbers())
        for (const Shape& shape : {Shape{1}, Shape{33, 31}, Shape{3, 32}, Shape{2, 3, 8}, Shape{2, 33, 5}, Shape{0, 4}})
            for (int axis = 0; axis < shape.rank(); ++axis) {
                const std::string what = shape.str() + " over axis " + std::to_string(axis);
                const Tensor x = normal(shape, DType::f64, 1);
                if (shape[axis] == 0) continue;
                const Maximum maximum = max_forward(rounded(numbers, x), axis);
                const Tensor dy = normal(maximum.y.shape(), DType::f64, 2), exact = rounded(numbers, dy), given = in(numbers, dy);
                expect_close(sum_backward(given, shape, axis), sum_backward(exact, shape, axis), numbers,
                             "sum backward of " + what);
                expect_close(mean_backward(given, shape, axis), mean_backward(exact, shape, axis), numbers,
                             "mean backward of " + what);
                expect_close(max_backward(given, in(numbers, maximum.indices), shape, axis),
                             max_backward(exact, maximum.indices, shape, axis), numbers, "max backward of " + what);
            }
}

TEST(ReduceOnDevices, SumsEverythingAndUndoesBroadcasts) {
    for (const Numbers& numbers : all_numbers()) {
        for (const std::int64_t n : {0, 1, 127, 1025, 9001}) {
            const Tensor x = normal({n}, DType::f64, 1, 1);
            expect_close(sum_all_forward(in(numbers, x)), sum_all_forward(rounded(numbers, x)), numbers,
                         "sum of " + std::to_string(n), kAllowed);
        }
        const Tensor dy = normal({}, DType::f64, 2);
        expect_close(sum_all_backward(in(numbers, dy), {3, 11}), sum_all_backward(rounded(numbers, dy), {3, 11}), numbers,
                     "sum backward");
        const Tensor x = normal({2, 5, 8}, DType::f64, 3, 1);
        for (const Shape& shape : {Shape{8}, Shape{5, 1}, Shape{2, 1, 8}, Shape{}, Shape{2, 5, 8}})
            expect_close(sum_to(in(numbers, x), shape), sum_to(rounded(numbers, x), shape), numbers, "sum to " + shape.str(),
                         kAllowed,
                         sum_to(through_bf16(sum_to(rounded(numbers, x), shape.rank() == 0 ? Shape{2, 1, 1} : shape)), shape));
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

TEST(ReduceOnDevices, GivesTheSameBitsAgain) {
    for (const Numbers& numbers : all_numbers()) {
        const Tensor x = in(numbers, normal({3, 5000}, DType::f64, 1)), tall = in(numbers, normal({700, 3}, DType::f64, 2));
        expect_same_bits_again(
            [&] {
                return std::vector{sum_forward(x, 1), sum_forward(tall, 0), sum_all_forward(x)};
            },
            "sums on " + to_string(numbers));
    }
}

}  // namespace
}  // namespace heddle::kernels
