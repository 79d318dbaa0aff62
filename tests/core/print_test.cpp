// Tensors as text. The expected strings are NumPy 2.4's output for the same arrays.
#include "core/print.h"

#include <gtest/gtest.h>

#include <limits>
#include <sstream>

#include "core/device.h"
#include "core/text.h"

namespace heddle {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

template <class T>
std::string row(std::initializer_list<T> values) {
    return to_text(Tensor::from(values, {static_cast<std::int64_t>(values.size())}));
}

std::string scalar(double value, DType dtype = DType::f32) { return to_text(Tensor::full({}, value, dtype)); }

TEST(Print, AlignsPointsAndLeavesZerosOut) {
    EXPECT_EQ(row<float>({0.1f, 0.25f, 3}), "[0.1  0.25 3.  ]");
    EXPECT_EQ(row<float>({999.5f, 1.25f}), "[999.5    1.25]");
    EXPECT_EQ(row<float>({-0.0f, 0}), "[-0.  0.]");
    EXPECT_EQ(row<double>({12345678, 87654321}), "[12345678. 87654321.]");
    EXPECT_EQ(to_text(Tensor::from<float>({0.5f, 1.25f, -3, 0.125f}, {2, 2})), "[[ 0.5    1.25 ]\n [-3.     0.125]]");
}

TEST(Print, ShowsAtMostEightDigitsBehindThePoint) {
    EXPECT_EQ(row<double>({1.0 / 3, 2.0 / 3}), "[0.33333333 0.66666667]");
    EXPECT_EQ(row<double>({0.1 + 0.2, 1}), "[0.3 1. ]");
    EXPECT_EQ(row<float>({0.1f + 0.2f}), "[0.3]");
}

TEST(Print, TurnsScientificForLargeSmallAndFarApart) {
    EXPECT_EQ(row<float>({1e-5f, 1}), "[1.e-05 1.e+00]");
    EXPECT_EQ(row<float>({1e9f, 1.5f}), "[1.0e+09 1.5e+00]");
    EXPECT_EQ(row<float>({123456.789f, 0.5f}), "[1.2345679e+05 5.0000000e-01]");
    EXPECT_EQ(row<double>({1e100, 1}), "[1.e+100 1.e+000]");
    EXPECT_EQ(row<float>({1e-4f}), "[0.0001]");  // 1e-4 in f32 is less than in f64
}

TEST(Print, ShowsNaNAndInfinity) {
    EXPECT_EQ(row<float>({kNaN, 1, kInfinity, -kInfinity}), "[ nan   1.  inf -inf]");
    EXPECT_EQ(row<float>({kNaN, 100.25f, -2}), "[   nan 100.25  -2.  ]");
    EXPECT_EQ(row<float>({1e-5f, kInfinity, -1}), "[ 1.e-05     inf -1.e+00]");
    EXPECT_EQ(row<float>({kNaN}), "[nan]");
}

TEST(Print, ShowsIntegersInColumns) {
    EXPECT_EQ(to_text(Tensor::from<std::int32_t>({1, -20, 300, 4}, {2, 2})), "[[  1 -20]\n [300   4]]");
    EXPECT_EQ(row<std::uint8_t>({1, 200}), "[  1 200]");
}

TEST(Print, NestsBracketsWithAnEmptyLineBetweenMatrices) {
    EXPECT_EQ(to_text(Tensor::arange(24).reshape({2, 3, 4})),
              "[[[ 0  1  2  3]\n  [ 4  5  6  7]\n  [ 8  9 10 11]]\n\n [[12 13 14 15]\n  [16 17 18 19]\n  [20 21 22 23]]]");
}

TEST(Print, BreaksLongLines) {
    EXPECT_EQ(to_text(Tensor::arange(30)),
              "[ 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23\n 24 25 26 27 28 29]");
}

TEST(Print, ShowsTheEdgesOfMoreThanAThousandElements) {
    EXPECT_EQ(to_text(Tensor::arange(10000)), "[   0    1    2 ... 9997 9998 9999]");
    EXPECT_EQ(to_text(Tensor::arange(1001)), "[   0    1    2 ...  998  999 1000]");
    EXPECT_EQ(to_text(Tensor::arange(1000)).find("..."), std::string::npos);
    EXPECT_EQ(
        to_text(Tensor::arange(1200).reshape({2, 3, 200})),
        "[[[   0    1    2 ...  197  198  199]\n  [ 200  201  202 ...  397  398  399]\n  [ 400  401  402 ...  597  598  599]]\n"
        "\n [[ 600  601  602 ...  797  798  799]\n  [ 800  801  802 ...  997  998  999]\n  [1000 1001 1002 ... 1197 1198 "
        "1199]]]");
    EXPECT_EQ(to_text(Tensor::arange(2000, DType::f32).reshape({40, 50})),
              "[[0.000e+00 1.000e+00 2.000e+00 ... 4.700e+01 4.800e+01 4.900e+01]\n"
              " [5.000e+01 5.100e+01 5.200e+01 ... 9.700e+01 9.800e+01 9.900e+01]\n"
              " [1.000e+02 1.010e+02 1.020e+02 ... 1.470e+02 1.480e+02 1.490e+02]\n"
              " ...\n"
              " [1.850e+03 1.851e+03 1.852e+03 ... 1.897e+03 1.898e+03 1.899e+03]\n"
              " [1.900e+03 1.901e+03 1.902e+03 ... 1.947e+03 1.948e+03 1.949e+03]\n"
              " [1.950e+03 1.951e+03 1.952e+03 ... 1.997e+03 1.998e+03 1.999e+03]]");
}

TEST(Print, WritesAScalarWithAllItsDigits) {
    EXPECT_EQ(scalar(0.1), "0.1");
    EXPECT_EQ(scalar(3), "3.0");
    EXPECT_EQ(scalar(0), "0.0");
    EXPECT_EQ(scalar(1e-5), "1e-05");
    EXPECT_EQ(scalar(1e-4), "1e-04");
    EXPECT_EQ(scalar(123456.79), "123456.79");
    EXPECT_EQ(scalar(999999), "999999.0");
    EXPECT_EQ(scalar(1e6), "1e+06");
    EXPECT_EQ(scalar(1e15, DType::f64), "1000000000000000.0");
    EXPECT_EQ(scalar(kNaN), "nan");
    EXPECT_EQ(scalar(-kInfinity), "-inf");
    EXPECT_EQ(scalar(1.0 / 3, DType::f64), "0.3333333333333333");
    EXPECT_EQ(scalar(1e16, DType::f64), "1e+16");
    EXPECT_EQ(scalar(7, DType::i32), "7");
}

TEST(Print, ShowsEmptyAndUndefinedTensors) {
    EXPECT_EQ(to_text(Tensor::zeros({2, 0})), "[]");
    EXPECT_EQ(to_text(Tensor()), "undefined");
}

TEST(Print, GoesToStreamsAndFmt) {
    const Tensor x = Tensor::from<float>({1, 2.5f}, {2});
    std::ostringstream stream;
    stream << x << '\n';
    EXPECT_EQ(stream.str(), "[1.  2.5]\n");
    EXPECT_EQ(fmt::format("x = {}", x), "x = [1.  2.5]");
    EXPECT_EQ(to_text(x.to(DType::bf16)), "[1.  2.5]");
    if (device::available()) {
        EXPECT_EQ(to_text(x.to(Device::cuda)), "[1.  2.5]");
    }
}

TEST(NumberText, SaysNumbersDurationsAndSizesAsPeopleReadThem) {
    EXPECT_EQ(grouped_text(-1234567), "-1,234,567");
    EXPECT_EQ(duration_text(3753), "1:02:33");
    EXPECT_EQ(size_text(0), "0 bytes");
    EXPECT_EQ(size_text(999), "999 bytes");
    EXPECT_EQ(size_text(1000), "1.0 kB");
    EXPECT_EQ(size_text(29'849'999), "29.8 MB");
    EXPECT_EQ(size_text(999'949'999), "999.9 MB");
    EXPECT_EQ(size_text(999'950'000), "1.0 GB") << "not 1000.0 MB";
    EXPECT_EQ(size_text(84'900'000'000), "84.9 GB");
    EXPECT_EQ(size_text(std::int64_t{1} << 50), "1125.9 TB");
}

}  // namespace
}  // namespace heddle
