#include "autograd/ops.h"
#include "kernels/concat/concat.h"
#include "kernels/permute/permute.h"
#include "kernels/slice/slice.h"
#include "tests/numbers.h"
#include "tests/support.h"

namespace heddle::kernels {
namespace {

std::vector<std::int64_t> index_of(const Shape& shape, std::int64_t at) {
    std::vector<std::int64_t> index(static_cast<std::size_t>(shape.rank()));
    for (int i = shape.rank() - 1; i >= 0; --i) {
        index[static_cast<std::size_t>(i)] = at % shape[i];
        at /= shape[i];
    }
    return index;
}

std::int64_t place_of(const Shape& shape, const std::vector<std::int64_t>& index) {
    std::int64_t at = 0;
    for (int i = 0; i < shape.rank(); ++i) at = at * shape[i] + index[static_cast<std::size_t>(i)];
    return at;
}

TEST(Permute, MovesEachElementToItsPlaceInEveryOrder) {
    for (const Shape& shape : {Shape{2, 3, 5, 4}, Shape{2, 1, 70, 1}, Shape{1, 3, 1, 4}, Shape{1, 5, 1, 1}, Shape{1, 1, 1, 1}}) {
        std::vector<int> axes = {0, 1, 2, 3};
        const Tensor x = normal(shape, DType::f64, 1);
        do {
            const Tensor y = permute_forward(x, axes);
            for (std::int64_t i = 0; i < y.numel(); ++i) {
                const std::vector<std::int64_t> to = index_of(y.shape(), i);
                std::vector<std::int64_t> from(4);
                for (std::size_t k = 0; k < 4; ++k) from[static_cast<std::size_t>(axes[k])] = to[k];
                ASSERT_EQ(y.data<double>()[i], x.data<double>()[place_of(x.shape(), from)]);
            }
            EXPECT_TRUE(same_bits(permute_backward(y, axes), x));
        } while (std::next_permutation(axes.begin(), axes.end()));
    }
}

TEST(Permute, NamesAxesThatDoNotFit) {
    const Tensor x = Tensor::zeros({2, 3}, DType::f32);
    const auto permute = [&](std::vector<int> axes) { return permute_forward(x, axes); };
    expect_error([&] { permute({0}); }, "permute: 1 axes given for shape [2, 3], which has 2");
    expect_error([&] { permute({0, 2}); }, "permute: shape [2, 3] has no axis 2");
    expect_error([&] { permute({1, -1}); }, "permute: axis -1 is named twice");
}

TEST(Slice, TakesTheNamedElementsOfEveryAxis) {
    const Tensor x = normal({4, 5, 6}, DType::f32, 1);
    for (int axis = 0; axis < 3; ++axis)
        for (std::int64_t begin = 0; begin <= x.dim(axis); ++begin)
            for (std::int64_t end = begin; end <= x.dim(axis); ++end) {
                const Tensor y = slice_forward(x, axis, begin, end);
                ASSERT_EQ(y.dim(axis), end - begin);
                for (std::int64_t i = 0; i < y.numel(); ++i) {
                    std::vector<std::int64_t> from = index_of(y.shape(), i);
                    from[static_cast<std::size_t>(axis)] += begin;
                    ASSERT_EQ(y.data<float>()[i], x.data<float>()[place_of(x.shape(), from)]);
                }
                // Back into zeros, and the rest of the axis stays zero.
                Tensor dx = Tensor::zeros(x.shape(), DType::f32), placed = Tensor::zeros(x.shape(), DType::f32);
                slice_backward(y, axis, begin, dx);
                place_slice(y, axis, begin, placed);
                EXPECT_TRUE(same_bits(dx, placed));
                for (std::int64_t i = 0; i < x.numel(); ++i) {
                    const std::int64_t k = index_of(x.shape(), i)[static_cast<std::size_t>(axis)];
                    ASSERT_EQ(dx.data<float>()[i], k >= begin && k < end ? x.data<float>()[i] : 0);
                }
            }
    EXPECT_TRUE(same_bits(slice_forward(x, 0, 1, 3), x.slice(1, 3)));
    EXPECT_TRUE(same_bits(slice_forward(x, -1, 1, 3), slice_forward(x, 2, 1, 3)));
}

TEST(Slice, NamesRangesThatLeaveTheAxis) {
    const Tensor x = Tensor::zeros({2, 3}, DType::f32);
    expect_error([&] { slice_forward(x, 1, 2, 4); }, "slice: [2, 4) of axis 1 of [2, 3]");
    expect_error([&] { slice_forward(x, 1, 2, 1); }, "slice: [2, 1)");
    expect_error([&] { slice_forward(x, 2, 0, 1); }, "slice: shape [2, 3] has no axis 2");
    Tensor dx = x.clone();
    expect_error(
        [&] {
            slice_backward(Tensor::zeros({3, 1}, DType::f32), 1, 0, dx);
        },
        "slice_backward: dy has shape [3, 1], wanted [2, 1]");
}

TEST(Concat, PutsPartsOneBehindTheOther) {
    for (const int axis : {0, 1, -1}) {
        const int at = axis < 0 ? axis + 3 : axis;
        std::vector<Tensor> parts;
        for (const std::int64_t extent : {2, 1, 0, 5}) {
            Shape shape = {3, 4, 6};
            shape.set(at, extent);
            parts.push_back(normal(shape, DType::f32, static_cast<std::uint64_t>(extent + 1)));
        }
        const Tensor y = concat_forward(parts, axis);
        ASSERT_EQ(y.dim(at), 8);
        std::int64_t begin = 0;
        for (const Tensor& part : parts) {
            EXPECT_TRUE(same_bits(slice_forward(y, at, begin, begin + part.dim(at)), part));
            EXPECT_TRUE(same_bits(concat_backward(y, axis, begin, part.dim(at)), part));
            begin += part.dim(at);
        }
    }
}

TEST(Concat, NamesPartsThatDoNotFit) {
    const Tensor x = Tensor::zeros({2, 3}, DType::f32);
    const auto join = [](std::vector<Tensor> parts, int axis) { return concat_forward(parts, axis); };
    expect_error([&] { join({}, 0); }, "concat: no parts given");
    expect_error(
        [&] {
            join({x, Tensor::zeros({2, 4}, DType::f32)}, 0);
        },
        "concat: parts[1] has shape [2, 4], which does not continue [2, 3] along axis 0");
    expect_error([&] { join({x, Tensor::zeros({2, 3}, DType::f64)}, 0); }, "concat: parts[1] is f64, but parts[0] is f32");
    expect_error([&] { join({x}, 2); }, "concat: shape [2, 3] has no axis 2");
}

}  // namespace
}  // namespace heddle::kernels
