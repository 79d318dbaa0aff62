#include "kernels/dropout/dropout.h"

#include "autograd/ops.h"
#include "tests/numbers.h"
#include "tests/support.h"

namespace heddle::kernels {
namespace {

const std::int64_t kWidths[] = {1, 7, 8, 31, 32, 33, 63, 64, 65, 127, 128, 1025};

// The definition, element by element.
std::vector<double> dropped(const Tensor& x, const Dropout& dropout) {
    std::vector<double> y = x.to_vector();
    for (std::int64_t row = 0; row < x.rows(); ++row)
        for (std::int64_t column = 0; column < x.cols(); ++column)
            if (!dropout.keeps_row(row, column)) y[static_cast<std::size_t>(row * x.cols() + column)] *= 0;
    return y;
}

template <class T>
Tensor expected(const Tensor& x, const Dropout& dropout) {
    const std::vector<double> masked = dropped(x, dropout);
    Tensor y = Tensor::empty(x.shape(), dtype_of<T>());
    for (std::size_t i = 0; i < masked.size(); ++i)
        y.mutable_data<T>()[i] = static_cast<T>(static_cast<T>(masked[i]) * static_cast<T>(dropout.scale()));
    return y;
}

TEST(Dropout, KeepsExactlyTheElementsThatTheCounterSays) {
    const Dropout dropout(0.3, 77);
    for (const std::int64_t cols : kWidths) {
        const Tensor x = normal({5, cols}, DType::f32, 3);
        EXPECT_TRUE(same_bits(dropout_forward(x, dropout), expected<float>(x, dropout))) << cols;
        const Tensor wide = x.to(DType::f64);
        EXPECT_TRUE(same_bits(dropout_forward(wide, dropout), expected<double>(wide, dropout))) << cols;
        EXPECT_TRUE(same_bits(dropout_backward(x, dropout), dropout_forward(x, dropout))) << cols;
    }
}

TEST(Dropout, EveryLevelGivesTheSameBitsAndWritesNothingElse) {
    const Dropout dropout(0.2, 0x123456789abcdef0u);
    for (const std::int64_t cols : kWidths)
        for (const auto rows : HEDDLE_ALL_LEVELS(dropout_rows)) {
            const Tensor x = normal({6, cols}, DType::f32, 5);
            Guarded<float> y(6 * cols);
            rows(x.data<float>(), y.data(), 0, 6, cols, dropout);
            EXPECT_TRUE(y.intact()) << cols;
            EXPECT_TRUE(same_bits(y.tensor({6, cols}), expected<float>(x, dropout))) << cols;
        }
}

TEST(Dropout, CountsRowsBeyond32Bits) {
    const Dropout dropout(0.5, 9);
    const std::int64_t row = (std::int64_t{5} << 32) + 3;
    const std::vector<float> ones(64, 1);
    for (const auto rows : HEDDLE_ALL_LEVELS(dropout_rows)) {
        std::vector<float> y(64);
        // The functions address x and y by row: the pointers are moved back by as much.
        const auto offset = static_cast<std::uintptr_t>(row) * 64 * sizeof(float);
        rows(reinterpret_cast<const float*>(reinterpret_cast<std::uintptr_t>(ones.data()) - offset),
             reinterpret_cast<float*>(reinterpret_cast<std::uintptr_t>(y.data()) - offset), row, row + 1, 64, dropout);
        for (std::int64_t c = 0; c < 64; ++c) EXPECT_EQ(y[static_cast<std::size_t>(c)] != 0, dropout.keeps_row(row, c)) << c;
    }
}

TEST(Dropout, DropsAboutTheProbabilityAndKeepsTheMean) {
    for (const double probability : {0.1, 0.5, 0.9}) {
        const Tensor y = dropout_forward(Tensor::full({1000, 100}, 1, DType::f32), Dropout(probability, 21));
        double zeros = 0, sum = 0;
        for (const float value : y.values<float>()) {
            zeros += value == 0;
            sum += value;
        }
        // Five standard deviations of 100,000 draws.
        EXPECT_NEAR(zeros / 1e5, probability, 5 * std::sqrt(probability * (1 - probability) / 1e5));
        EXPECT_NEAR(sum / 1e5, 1, 5 * std::sqrt(probability / (1 - probability) / 1e5));
    }
}

TEST(Dropout, AnotherKeyGivesAnotherMask) {
    const Tensor x = Tensor::full({4, 64}, 1, DType::f32);
    EXPECT_FALSE(same_bits(dropout_forward(x, Dropout(0.5, 1)), dropout_forward(x, Dropout(0.5, 2))));
}

TEST(Dropout, PassesNothingOverWhenItIsOff) {
    const Tensor x = normal({3, 5}, DType::f32, 1);
    EXPECT_TRUE(dropout_forward(x, Dropout()).shares_storage(x));
    EXPECT_TRUE(dropout_forward(x, Dropout(0, 4)).shares_storage(x));
}

TEST(Dropout, AcceptsNoRowsAndAnyShape) {
    EXPECT_EQ(dropout_forward(Tensor::empty({0, 8}, DType::f32), Dropout(0.5, 1)).numel(), 0);
    EXPECT_EQ(dropout_forward(Tensor::empty({8, 0}, DType::f32), Dropout(0.5, 1)).numel(), 0);
    const Tensor x = normal({2, 3, 40}, DType::f32, 1);
    EXPECT_TRUE(
        same_bits(dropout_forward(x, Dropout(0.5, 1)).reshape({6, 40}), dropout_forward(x.reshape({6, 40}), Dropout(0.5, 1))));
}

TEST(Dropout, NamesWhatDoesNotFit) {
    expect_error([] { dropout_forward(Tensor(), Dropout(0.5, 1)); }, "dropout: x is an undefined tensor");
    expect_error([] { dropout_forward(Tensor::empty({2, 2}, DType::i32), Dropout(0.5, 1)); }, "i32");
    expect_error([] { Dropout(1, 1); }, "dropout: probability 1");
}

TEST(Dropout, RecordsNothingWhenItIsOff) {
    const Variable x(normal({2, 3}, DType::f32, 1), true);
    EXPECT_TRUE(ops::dropout(x, Dropout()).is_leaf());
}

}  // namespace
}  // namespace heddle::kernels
