// The product under everything: its value against three loops in f64, and its bits.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "autograd/ops.h"
#include "core/random.h"
#include "kernels/linear/linear.h"
#include "kernels/matmul/matmul.h"
#include "kernels/matmul/product.h"
#include "tests/numbers.h"
#include "tests/support.h"

namespace heddle {
namespace {

using kernels::Epilogue;
using kernels::MatrixRef;

template <class T>
std::vector<T> normal(std::int64_t n, std::uint64_t key) {
    Tensor tensor = Tensor::empty({n}, dtype_of<T>());
    fill_normal(tensor, 0, 1, key);
    return {tensor.data<T>(), tensor.data<T>() + n};
}

// A matrix stored plainly or transposed, over given elements.
template <class T>
MatrixRef<const T> stored(const std::vector<T>& values, std::int64_t rows, std::int64_t cols, bool transposed) {
    return transposed ? MatrixRef<const T>{values.data(), 1, rows} : MatrixRef<const T>{values.data(), cols, 1};
}

struct ProductCase {
    std::int64_t m, n, k;
    bool transpose_a, transpose_b;
};

template <class T>
void expect_equal_to_loops(const ProductCase& at, const Epilogue<T>& epilogue, double tolerance) {
    const std::vector<T> a = normal<T>(at.m * at.k, 1), b = normal<T>(at.k * at.n, 2), bias = normal<T>(at.n, 3);
    // Two columns of guard values beside each row of C.
    const std::int64_t pitch = at.n + 2;
    std::vector<T> c = normal<T>(at.m * pitch, 4);
    const std::vector<double> wide_a(a.begin(), a.end()), wide_b(b.begin(), b.end()), wide_bias(bias.begin(), bias.end());
    std::vector<double> wanted(c.begin(), c.end());
    const std::vector<T> before = c;
    Epilogue<T> tile = epilogue;
    Epilogue<double> loops{.accumulate = epilogue.accumulate, .relu = epilogue.relu};
    if (epilogue.bias != nullptr) {
        tile.bias = bias.data();
        loops.bias = wide_bias.data();
    }
    kernels::product<T>(at.m, at.n, at.k, stored(a, at.m, at.k, at.transpose_a), stored(b, at.k, at.n, at.transpose_b),
                        {c.data(), pitch, 1}, tile);
    kernels::reference_product<double>(at.m, at.n, at.k, stored(wide_a, at.m, at.k, at.transpose_a),
                                       stored(wide_b, at.k, at.n, at.transpose_b), {wanted.data(), pitch, 1}, loops);
    for (std::int64_t i = 0; i < at.m; ++i)
        for (std::int64_t j = 0; j < pitch; ++j) {
            const auto index = static_cast<std::size_t>(i * pitch + j);
            if (j >= at.n) {
                ASSERT_EQ(c[index], before[index]) << "a value beside row " << i << " was overwritten";
                continue;
            }
            const double error = std::abs(static_cast<double>(c[index]) - wanted[index]);
            ASSERT_TRUE(error <= tolerance * std::sqrt(static_cast<double>(at.k) + 1) * 4)
                << at.m << "x" << at.n << "x" << at.k << " element " << i << "," << j << ": " << c[index] << " against "
                << wanted[index];
        }
}

TEST(Product, EqualsThreeLoopsForEverySizeLayoutAndEpilogue) {
    const float some_float = 0;
    const double some_double = 0;
    for (const std::int64_t m : {0, 1, 11, 13, 33})
        for (const std::int64_t n : {0, 1, 16, 24, 31, 32, 48, 65})  // 16: one whole vector of each level's widest
            for (const std::int64_t k : {0, 1, 31, 257})
                for (int layout = 0; layout < 4; ++layout) {
                    const ProductCase at{m, n, k, (layout & 1) != 0, (layout & 2) != 0};
                    expect_equal_to_loops<float>(at, {}, 1e-6);
                    expect_equal_to_loops<float>(at, {.bias = &some_float, .relu = true}, 1e-6);
                    expect_equal_to_loops<float>(at, {.accumulate = true}, 1e-6);
                    expect_equal_to_loops<double>(at, {.bias = &some_double}, 1e-15);
                }
}

// The shapes of the standard model: projections, feed-forward, vocabulary.
struct Extents {
    std::int64_t in, out;
};
constexpr Extents kModelShapes[] = {{128, 384}, {128, 256}, {128, 128}, {128, 512}, {512, 128}, {128, 6000}};

TEST(Product, GivesARowTheSameBitsForAnyNumberOfRowsAnyOffsetAndAnyThreads) {
    for (const auto& [in, out] : kModelShapes) {
        const std::int64_t most = out > 1000 ? 64 : 200;
        Tensor x = Tensor::empty({most, in}, DType::f32), weight = Tensor::empty({out, in}, DType::f32);
        fill_normal(x, 0, 1, 1);
        fill_normal(weight, 0, 1, 2);
        const WithThreads one(1);
        const Tensor whole = kernels::linear_forward(x, weight, {});
        for (std::int64_t rows = 1; rows <= most; rows += out > 1000 ? 9 : rows < 30 ? 1 : 7)
            for (const int count : {1, 2, 3}) {
                const WithThreads on(count);
                const std::int64_t offset = (rows * 13) % (most - rows + 1);
                const Tensor part = kernels::linear_forward(x.slice(offset, offset + rows), weight, {});
                ASSERT_EQ(
                    std::memcmp(part.data<float>(), whole.data<float>() + offset * out, static_cast<std::size_t>(part.bytes())),
                    0)
                    << in << " -> " << out << ", " << rows << " rows from " << offset << ", " << count << " threads";
            }
    }
}

TEST(Product, GivesWeightGradientsTheSameBitsForAnyThreads) {
    for (const auto& [in, out] : kModelShapes) {
        Tensor x = Tensor::empty({150, in}, DType::f32), dy = Tensor::empty({150, out}, DType::f32);
        fill_normal(x, 0, 1, 1);
        fill_normal(dy, 0, 1, 2);
        Tensor first;
        for (const int count : {1, 2, 3, 7}) {
            const WithThreads on(count);
            Tensor dweight = Tensor::zeros({out, in}, DType::f32);
            kernels::linear_backward_weight(dy, x, dweight);
            if (!first.defined()) first = dweight;
            ASSERT_EQ(std::memcmp(first.data<float>(), dweight.data<float>(), static_cast<std::size_t>(first.bytes())), 0);
        }
    }
}

TEST(Product, KeepsPanelsOfAWeightUntilItChanges) {
    Tensor x = Tensor::empty({3, 5}, DType::f32), weight = Tensor::empty({4, 5}, DType::f32);
    fill_normal(x, 0, 1, 1);
    fill_normal(weight, 0, 1, 2);
    kernels::PackedWeight packed;
    const float* first = packed.panels<float>(weight);
    EXPECT_EQ(packed.panels<float>(weight), first);
    EXPECT_EQ(kernels::linear_forward(x, weight, {}, &packed).to_vector(), kernels::linear_forward(x, weight, {}).to_vector());
    const Tensor top = weight.slice(0, 2);
    EXPECT_EQ(kernels::linear_forward(x, top, {}, &packed).to_vector(), kernels::linear_forward(x, top, {}).to_vector());
    EXPECT_EQ(kernels::linear_forward(x, weight, {}, &packed).to_vector(), kernels::linear_forward(x, weight, {}).to_vector());
    weight.fill_(0.5);
    EXPECT_EQ(kernels::linear_forward(x, weight, {}, &packed).to_vector(), kernels::linear_forward(x, weight, {}).to_vector());
}

TEST(Matmul, MultipliesBatchesAndSharesOneRightSide) {
    const Tensor a = Tensor::from(std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8}, {2, 2, 2});
    const Tensor b = Tensor::from(std::vector<double>{1, 0, 1, 1}, {2, 2});
    EXPECT_EQ(kernels::matmul_forward(a, b).to_vector(), (std::vector<double>{3, 2, 7, 4, 11, 6, 15, 8}));
    EXPECT_EQ(kernels::matmul_forward(a, a, true).to_vector(), (std::vector<double>{10, 14, 14, 20, 74, 86, 86, 100}));
    EXPECT_EQ(kernels::matmul_forward(a, b, false, true).to_vector(), (std::vector<double>{1, 3, 3, 7, 5, 11, 7, 15}));
}

TEST(Matmul, NamesBothShapesWhenTheyDoNotFit) {
    const Tensor a = Tensor::zeros({2, 3}, DType::f32), b = Tensor::zeros({4, 5}, DType::f32);
    expect_error([&] { kernels::matmul_forward(a, b); }, "matmul: a [2, 3] has 3 columns, but b [4, 5] has 4 rows");
    expect_error(
        [&] {
            kernels::matmul_forward(Tensor::zeros({2, 3, 4}, DType::f32), Tensor::zeros({3, 4, 5}, DType::f32));
        },
        "wanted equal leading axes");
    expect_error([&] { kernels::matmul_forward(a, Tensor::zeros({3, 5}, DType::f64)); }, "matmul: b is f64, wanted f32");
}

}  // namespace
}  // namespace heddle
