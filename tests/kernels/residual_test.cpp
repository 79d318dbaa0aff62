#include "kernels/residual/residual.h"

#include "autograd/cases/kernel_case.h"
#include "autograd/ops.h"
#include "kernels/dropout/dropout.h"
#include "tests/numbers.h"
#include "tests/support.h"

namespace heddle::kernels {
namespace {

const std::int64_t kWidths[] = {1, 8, 31, 32, 33, 127, 128, 1025};

TEST(Residual, EveryLevelEqualsTheFormulaAndWritesNothingElse) {
    const Dropout dropout(0.2, 8);
    for (const std::int64_t cols : kWidths)
        for (const auto rows : HEDDLE_ALL_LEVELS(residual_rows)) {
            const Tensor x = normal({3, cols}, DType::f32, 1), sublayer = normal({3, cols}, DType::f32, 2);
            Guarded<float> y(3 * cols);
            rows(x.data<float>(), sublayer.data<float>(), y.data(), 0, 3, cols, dropout);
            EXPECT_TRUE(y.intact()) << cols;
            EXPECT_LT(relative_error(y.tensor({3, cols}), cases::plain_residual(x, sublayer, dropout)), 1e-6) << cols;
        }
}

TEST(Residual, LeavesTheStreamUntouchedWhereTheSublayerIsDropped) {
    const Dropout dropout(0.5, 3);
    const Tensor x = normal({4, 33}, DType::f32, 1), y = residual_forward(x, normal({4, 33}, DType::f32, 2), dropout);
    for (std::int64_t row = 0; row < 4; ++row)
        for (std::int64_t c = 0; c < 33; ++c)
            EXPECT_EQ(y.data<float>()[row * 33 + c] == x.data<float>()[row * 33 + c], !dropout.keeps_row(row, c));
}

TEST(Residual, BackwardMakesTheMaskAgain) {
    const Dropout dropout(0.3, 7);
    const Tensor dy = normal({5, 40}, DType::f32, 4);
    EXPECT_TRUE(same_bits(residual_backward(dy, dropout), dropout_forward(dy, dropout)));
    EXPECT_TRUE(residual_backward(dy, Dropout()).shares_storage(dy));
}

TEST(Residual, NamesWhatDoesNotFit) {
    const Tensor x = Tensor::zeros({2, 3}, DType::f32);
    expect_error(
        [&] {
            residual_forward(x, Tensor::zeros({3, 2}, DType::f32), {});
        },
        "residual: sublayer has shape [3, 2], wanted [2, 3]");
    expect_error([&] { residual_forward(x, Tensor::zeros({2, 3}, DType::f64), {}); }, "residual: sublayer is f64, wanted f32");
}

TEST(Residual, WithoutDropoutGivesBothInputsTheSameGradient) {
    Variable x(normal({3, 5}, DType::f32, 1), true), sublayer(normal({3, 5}, DType::f32, 2), true);
    const Tensor dy = normal({3, 5}, DType::f32, 3);
    backward(ops::residual(x, sublayer), dy);
    EXPECT_TRUE(same_bits(x.grad(), dy));
    EXPECT_TRUE(same_bits(sublayer.grad(), dy));
    EXPECT_FALSE(x.grad().shares_storage(sublayer.grad()));
}

}  // namespace
}  // namespace heddle::kernels
