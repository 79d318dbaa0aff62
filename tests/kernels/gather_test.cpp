#include "kernels/gather/gather.h"

#include "tests/numbers.h"
#include "tests/support.h"

namespace heddle::kernels {
namespace {

Tensor numbers_below(std::int64_t bound, std::int64_t n, std::uint64_t key) {
    Sequence random(key);
    Tensor indices = Tensor::empty({n}, DType::i32);
    for (std::int32_t& index : indices.mutable_values<std::int32_t>())
        index = static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(bound)));
    return indices;
}

// dx + factor * the sum in order of i, as one thread would add it.
template <class T>
Tensor added_in_order(const Tensor& dy, const Tensor& indices, const Tensor& dx, double factor) {
    Tensor sum = dx.clone();
    const std::int64_t cols = dy.cols();
    for (std::int64_t i = 0; i < indices.numel(); ++i) {
        const std::int32_t k = indices.data<std::int32_t>()[i];
        if (k < 0) continue;
        for (std::int64_t c = 0; c < cols; ++c)
            sum.mutable_data<T>()[k * cols + c] += static_cast<T>(factor) * dy.data<T>()[i * cols + c];
    }
    return sum;
}

TEST(Gather, CopiesTheNamedRows) {
    for (const std::int64_t cols : {1, 31, 128}) {
        const Tensor x = normal({20, cols}, DType::f32, 1), indices = numbers_below(20, 33, 2), y = gather_forward(x, indices);
        ASSERT_EQ(y.shape(), (Shape{33, cols}));
        for (std::int64_t i = 0; i < 33; ++i)
            EXPECT_TRUE(
                same_bits(y.slice(i, i + 1), x.slice(indices.data<std::int32_t>()[i], indices.data<std::int32_t>()[i] + 1)));
    }
    const Tensor deep = normal({4, 2, 3}, DType::f64, 1);
    EXPECT_EQ(gather_forward(deep, Tensor::from(std::vector<std::int32_t>{3}, {1})).shape(), (Shape{1, 2, 3}));
}

TEST(Gather, BackwardAddsRepeatedRowsInOrderForAnyNumberOfThreads) {
    const Tensor indices = numbers_below(40, 1025, 3);
    for (const DType dtype : {DType::f32, DType::f64}) {
        const Tensor dy = normal({1025, 33}, dtype, 4), before = normal({40, 33}, dtype, 5);
        const Tensor wanted = dtype == DType::f32 ? added_in_order<float>(dy, indices, before, 1.5)
                                                  : added_in_order<double>(dy, indices, before, 1.5);
        for (const int count : {1, 2, 3}) {
            const WithThreads with(count);
            Tensor dx = before.clone();
            gather_backward(dy, indices, dx, 1.5);
            EXPECT_TRUE(same_bits(dx, wanted)) << count;
        }
    }
}

TEST(Gather, BackwardSkipsNegativeIndicesAndLeavesOtherRowsAlone) {
    Tensor dx = Tensor::full({4, 2}, 7, DType::f32);
    gather_backward(Tensor::full({3, 2}, 1, DType::f32), Tensor::from(std::vector<std::int32_t>{2, -1, 2}, {3}), dx);
    EXPECT_EQ(dx.to_vector(), (std::vector<double>{7, 7, 7, 7, 9, 9, 7, 7}));
}

TEST(Gather, ListsThePlacesOfEachIndexAscending) {
    const std::int32_t indices[] = {3, 0, -1, 3, 5, 0, 3};
    const PlacesOfIndices sorted = places_of_indices(indices, 7, 6);
    EXPECT_EQ(sorted.indices, (std::vector<std::int32_t>{0, 3, 5}));
    EXPECT_EQ(sorted.begin, (std::vector<std::int64_t>{0, 2, 5, 6}));
    EXPECT_EQ(sorted.places, (std::vector<std::int64_t>{1, 5, 0, 3, 6, 4}));
}

TEST(Gather, NamesWhatDoesNotFit) {
    const Tensor x = Tensor::zeros({3, 2}, DType::f32);
    const auto index = [](std::int32_t k) { return Tensor::from(std::vector<std::int32_t>{0, k}, {2}); };
    expect_error([&] { gather_forward(x, index(3)); }, "gather: indices[1] is 3, but x has 3 rows");
    expect_error([&] { gather_forward(x, index(-1)); }, "gather: indices[1] is -1");
    expect_error([&] { gather_forward(Tensor::full({}, 1, DType::f32), index(0)); }, "gather: x is a scalar");
    Tensor dx = x.clone();
    expect_error([&] { gather_backward(Tensor::zeros({2, 2}, DType::f32), index(3), dx); }, "indices[1] is 3");
}

}  // namespace
}  // namespace heddle::kernels
