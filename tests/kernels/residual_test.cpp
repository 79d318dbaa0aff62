// The residual connection: the rows of each level, and what is handed on without a copy.
#include "kernels/residual/residual.h"

#include "autograd/ops.h"
#include "tests/numbers.h"
#include "tests/support.h"

namespace heddle::kernels {
namespace {

// With the probability 1/2 the kept elements are doubled, which rounds nothing.
TEST(Residual, AddsTheKeptElementsOfTheSublayerAtEachLevel) {
    constexpr std::int64_t rows = 5, cols = 43;
    const Dropout dropout(0.5, 9);
    const Tensor x = normal({rows, cols}, DType::f32, 1), sublayer = normal({rows, cols}, DType::f32, 2);
    for (const auto at_level : HEDDLE_ALL_LEVELS(residual_rows)) {
        Tensor y = Tensor::zeros({rows, cols});
        at_level(x.data<float>(), sublayer.data<float>(), y.mutable_data<float>(), 1, rows, cols, dropout);
        for (std::int64_t i = 0; i < rows * cols; ++i) {
            const float kept = dropout.keeps_row(i / cols, i % cols) ? 2 * sublayer.data<float>()[i] : 0;
            EXPECT_EQ(y.data<float>()[i], i < cols ? 0 : x.data<float>()[i] + kept) << i;
        }
    }
}

TEST(Residual, WithoutDropoutGivesBothInputsTheSameGradient) {
    Variable x(normal({3, 5}, DType::f32, 1), true), sublayer(normal({3, 5}, DType::f32, 2), true);
    const Tensor dy = normal({3, 5}, DType::f32, 3);
    backward(ops::residual(x, sublayer), dy);
    EXPECT_TRUE(same_bits(x.grad(), dy));
    EXPECT_TRUE(same_bits(sublayer.grad(), dy));
    EXPECT_FALSE(x.grad().shares_storage(sublayer.grad()));
    for (const Dropout& off : {Dropout(), Dropout(0, 4)}) EXPECT_TRUE(residual_backward(dy, off).shares_storage(dy));
}

}  // namespace
}  // namespace heddle::kernels
