#include "kernels/reduce/reduce.h"

#include "tests/numbers.h"
#include "tests/support.h"

namespace heddle::kernels {
namespace {

const Shape kShapes[] = {{1}, {5}, {1025}, {3, 4}, {33, 31}, {2, 3, 4}, {4, 1, 127}, {2, 3, 4, 5}};

// function(the elements along `axis`) for each output, in double.
template <class Function>
std::vector<double> along(const Tensor& x, int axis, Function function) {
    std::int64_t outer = 1, inner = 1;
    for (int i = 0; i < axis; ++i) outer *= x.dim(i);
    for (int i = axis + 1; i < x.rank(); ++i) inner *= x.dim(i);
    const std::vector<double> values = x.to_vector();
    std::vector<double> results;
    for (std::int64_t o = 0; o < outer; ++o)
        for (std::int64_t j = 0; j < inner; ++j) {
            std::vector<double> line;
            for (std::int64_t k = 0; k < x.dim(axis); ++k)
                line.push_back(values[static_cast<std::size_t>((o * x.dim(axis) + k) * inner + j)]);
            results.push_back(function(line));
        }
    return results;
}

Shape without(const Shape& shape, int axis, bool keep) {
    Shape result;
    for (int i = 0; i < shape.rank(); ++i) {
        if (i != axis) result.append(shape[i]);
        if (i == axis && keep) result.append(1);
    }
    return result;
}

double total(const std::vector<double>& line) {
    double sum = 0;
    for (const double value : line) sum += value;
    return sum;
}

TEST(Reduce, SumsAveragesAndMaximisesOverEveryAxis) {
    for (const Shape& shape : kShapes)
        for (int axis = 0; axis < shape.rank(); ++axis)
            for (const bool keep : {false, true}) {
                const Tensor x = normal(shape, DType::f64, 1);
                const auto n = static_cast<double>(shape[axis]);
                const Shape wanted = without(shape, axis, keep);
                const Tensor sum = Tensor::from(along(x, axis, total), wanted);
                const Tensor mean = Tensor::from(along(x, axis, [n](auto& line) { return total(line) / n; }), wanted);
                const Tensor max =
                    Tensor::from(along(x, axis, [](auto& line) { return *std::max_element(line.begin(), line.end()); }), wanted);
                EXPECT_LT(relative_error(sum_forward(x, axis, keep), sum), 1e-14);
                EXPECT_LT(relative_error(mean_forward(x, axis - shape.rank(), keep), mean), 1e-14);
                EXPECT_EQ(relative_error(max_forward(x, axis, keep).y, max), 0);
                EXPECT_LT(relative_error(sum_forward(x.to(DType::f32), axis, keep), sum), 1e-5);
            }
}

TEST(Reduce, SendsTheMaximumsGradientToTheFirstOfEquals) {
    const Tensor x = Tensor::from(std::vector<float>{1, 3, 3, 2, 2, 2}, {2, 3});
    const Extremum max = max_forward(x, 1);
    EXPECT_EQ(max.indices.to_vector(), (std::vector<double>{1, 0}));
    const Tensor dx = max_backward(Tensor::from(std::vector<float>{5, 7}, {2}), max.indices, x.shape(), 1);
    EXPECT_EQ(dx.to_vector(), (std::vector<double>{0, 5, 0, 7, 0, 0}));
}

TEST(Reduce, TheMaximumKeepsANanAndKnowsInfinities) {
    const float nan = std::nanf(""), inf = std::numeric_limits<float>::infinity();
    const Tensor x = Tensor::from(std::vector<float>{1, nan, 3, nan, 1, 2, -inf, -inf, -inf}, {3, 3});
    const Extremum max = max_forward(x, 1);
    EXPECT_TRUE(std::isnan(max.y.data<float>()[0]));
    EXPECT_TRUE(std::isnan(max.y.data<float>()[1]));
    EXPECT_EQ(max.y.data<float>()[2], -inf);
    EXPECT_EQ(max.indices.to_vector(), (std::vector<double>{1, 0, 0}));
}

TEST(Reduce, AddsManyFloatsInDouble) {
    const Tensor x = Tensor::full({3000000}, 0.1, DType::f32);
    const double wanted = 3000000.0 * 0.1f;
    EXPECT_NEAR(sum_forward(x, 0).item(), wanted, 1e-7 * wanted);
    EXPECT_NEAR(sum_all_forward(x).item(), wanted, 1e-7 * wanted);
}

// Numbers of many magnitudes whose sum along axis 1 is 0, so that a computed sum tells in which order they were added.
Tensor cancelling(const Shape& shape) {
    Tensor x = normal(shape, DType::f32, 1);
    const std::int64_t n = x.dim(1), inner = x.numel() / (x.dim(0) * n);
    float* at = x.mutable_data<float>();
    for (std::int64_t o = 0; o < x.dim(0); ++o)
        for (std::int64_t k = 0; k < n; ++k)
            for (std::int64_t j = 0; j < inner; ++j) {
                const auto of = [&](std::int64_t row) -> float& { return at[(o * n + row) * inner + j]; };
                of(k) = k < n / 2 ? std::exp(8 * of(k)) : n % 2 == 1 && k == n / 2 ? 0 : -of(n - 1 - k);
            }
    return x;
}

TEST(Reduce, ALineAloneHasTheBitsThatItHasAmongOthers) {
    const Shape shapes[] = {{17, 1000},   {17, 32768},   {17, 70001},  {8, 1023, 3},
                            {8, 2048, 3}, {8, 2048, 40}, {8, 9001, 5}, {5, 1100, 1030}};
    for (const Shape& shape : shapes) {
        const Tensor x = cancelling(shape), all = sum_forward(x, 1);
        for (const std::int64_t lines : {1, 2})
            EXPECT_TRUE(same_bits(sum_forward(x.slice(3, 3 + lines), 1), all.slice(3, 3 + lines)))
                << lines << " of " << shape.str();
    }
}

TEST(Reduce, EmptyAxesSumToZeroAndHaveNoMean) {
    const Tensor x = Tensor::empty({2, 0, 3}, DType::f32);
    EXPECT_EQ(sum_forward(x, 1).to_vector(), std::vector<double>(6, 0));
    EXPECT_EQ(sum_forward(x, 0).shape(), (Shape{0, 3}));
    EXPECT_EQ(sum_all_forward(x).item(), 0);
    expect_error([&] { mean_forward(x, 1); }, "mean: axis 1 of x [2, 0, 3] is empty");
    expect_error([&] { max_forward(x, 1); }, "max: axis 1 of x [2, 0, 3] is empty");
    EXPECT_EQ(sum_backward(Tensor::empty({2, 3}, DType::f32), x.shape(), 1).numel(), 0);
}

TEST(Reduce, SumsBackToABroadcastShape) {
    const Tensor x = normal({2, 3, 4}, DType::f64, 1);
    EXPECT_TRUE(sum_to(x, {2, 3, 4}).shares_storage(x));
    EXPECT_LT(relative_error(sum_to(x, {4}), sum_forward(sum_forward(x, 0), 0)), 1e-15);
    EXPECT_LT(relative_error(sum_to(x, {3, 1}), sum_forward(sum_forward(x, 2, true), 0)), 1e-15);
    EXPECT_LT(relative_error(sum_to(x, {}), sum_all_forward(x)), 1e-14);
    EXPECT_EQ(sum_to(Tensor::empty({0, 3}, DType::f64), {1, 3}).to_vector(), std::vector<double>(3, 0));
    expect_error([&] { sum_to(x, {3}); }, "sum_to: [3] does not broadcast to x [2, 3, 4]");
    expect_error([&] { sum_to(x, {1, 2, 3, 4}); }, "does not broadcast");
}

TEST(Reduce, NamesWhatDoesNotFit) {
    const Tensor x = Tensor::zeros({2, 3}, DType::f32);
    expect_error([&] { sum_forward(x, 2); }, "sum: shape [2, 3] has no axis 2");
    expect_error([&] { max_forward(x, -3); }, "max: shape [2, 3] has no axis -3");
    expect_error([&] { mean_forward(Tensor::zeros({}, DType::f32), 0); }, "mean: shape [] has no axis 0");
    expect_error([&] { sum_backward(x, {2, 3}, 0); }, "sum_backward: dy has shape [2, 3], wanted [3]");
    expect_error([&] { sum_forward(Tensor::zeros({2}, DType::u8), 0); }, "u8");
}

}  // namespace
}  // namespace heddle::kernels
