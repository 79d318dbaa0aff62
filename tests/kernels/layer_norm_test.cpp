#include "kernels/layer_norm/layer_norm.h"

#include "autograd/cases/kernel_case.h"
#include "autograd/ops.h"
#include "kernels/layer_norm/detail/layer_norm_rows.h"
#include "kernels/residual/residual.h"
#include "tests/numbers.h"
#include "tests/support.h"

namespace heddle::kernels {
namespace {

constexpr double kEps = 1e-5;
const std::int64_t kWidths[] = {1, 2, 31, 32, 33, 127, 128, 512, 1025};

struct Inputs {
    Tensor x, sublayer, gamma, beta, dy, d_sum;

    Inputs(std::int64_t rows, std::int64_t cols, DType dtype, std::uint64_t key = 1)
        : x(normal({rows, cols}, DType::f32, key, 0.3, 2).to(dtype)),
          sublayer(normal({rows, cols}, DType::f32, key + 1).to(dtype)),
          gamma(normal({cols}, DType::f32, key + 2, 1, 0.3).to(dtype)),
          beta(normal({cols}, DType::f32, key + 3).to(dtype)),
          dy(normal({rows, cols}, DType::f32, key + 4).to(dtype)),
          d_sum(normal({rows, cols}, DType::f32, key + 5).to(dtype)) {}
};

TEST(LayerNorm, GivesZeroMeanAndUnitVariance) {
    const Inputs in(7, 128, DType::f32);
    const Tensor y = layer_norm_forward(in.x, Tensor::full({128}, 1, DType::f32), Tensor::zeros({128}, DType::f32), kEps).y;
    for (std::int64_t row = 0; row < 7; ++row) {
        double mean = 0, square = 0;
        for (std::int64_t j = 0; j < 128; ++j) {
            const double value = y.data<float>()[row * 128 + j];
            mean += value / 128;
            square += value * value / 128;
        }
        EXPECT_LT(std::abs(mean), 1e-6);
        EXPECT_LT(std::abs(square - 1), 1e-4);
    }
}

TEST(LayerNorm, KeepsTheVarianceOfRowsWithALargeMean) {
    for (const double mean : {1e4, -3e5}) {
        const Tensor x = normal({9, 130}, DType::f32, 4, mean, 1), gamma = Tensor::full({130}, 1, DType::f32);
        const Tensor beta = Tensor::zeros({130}, DType::f32);
        const auto given = layer_norm_forward(x, gamma, beta, kEps);
        const auto wanted = layer_norm_forward(x.to(DType::f64), gamma.to(DType::f64), beta.to(DType::f64), kEps);
        EXPECT_LT(relative_error(given.rstd, wanted.rstd), 1e-6);
        EXPECT_LT(relative_error(given.mean, wanted.mean), 1e-7);
    }
}

TEST(LayerNorm, GivesExactlyBetaForAConstantRow) {
    for (const double value : {0.0, 0.1, -1e4, 12345.678}) {
        for (const std::int64_t cols : kWidths) {
            const Inputs in(2, cols, DType::f32);
            EXPECT_TRUE(same_bits(layer_norm_forward(Tensor::full({1, cols}, value, DType::f32), in.gamma, in.beta, kEps).y,
                                  in.beta.reshape({1, cols})))
                << value << " " << cols;
        }
    }
}

TEST(LayerNorm, AcceptsNoRowsAndMoreAxes) {
    const Inputs in(6, 8, DType::f32), empty(0, 8, DType::f32);
    const auto none = layer_norm_forward(empty.x, in.gamma, in.beta, kEps);
    EXPECT_EQ(none.y.shape(), Shape({0, 8}));
    Tensor dgamma = Tensor::full({8}, 2, DType::f32);
    const Tensor dx = layer_norm_backward(empty.dy, empty.x, in.gamma, none.mean, none.rstd, true, dgamma, {});
    EXPECT_EQ(dx.shape(), Shape({0, 8}));
    EXPECT_TRUE(same_bits(dgamma, Tensor::full({8}, 2, DType::f32)));
    const Tensor y = layer_norm_forward(in.x.reshape({2, 3, 8}), in.gamma, in.beta, kEps).y;
    EXPECT_TRUE(same_bits(y.reshape({6, 8}), layer_norm_forward(in.x, in.gamma, in.beta, kEps).y));
}

TEST(LayerNorm, EveryLevelEqualsTheReferenceAndWritesNothingElse) {
    for (const std::int64_t cols : kWidths)
        for (const double probability : {0.0, 0.3}) {
            const Inputs in(5, cols, DType::f32);
            const Dropout dropout(probability, 99);
            Guarded<float> sum(5 * cols), y(5 * cols), mean(5), rstd(5);
            LayerNormArrays<float> a{in.x.data<float>(),
                                     in.sublayer.data<float>(),
                                     in.gamma.data<float>(),
                                     in.beta.data<float>(),
                                     sum.data(),
                                     y.data(),
                                     mean.data(),
                                     rstd.data(),
                                     cols,
                                     kEps,
                                     dropout};
            reference::layer_norm_rows(a, 0, 5);
            const Tensor wanted_sum = sum.tensor({5, cols}), wanted = y.tensor({5, cols}), wanted_rstd = rstd.tensor({5});
            for (auto* rows : HEDDLE_ALL_LEVELS(layer_norm_rows)) {
                Guarded<float> sum2(5 * cols), y2(5 * cols), mean2(5), rstd2(5);
                a.sum = sum2.data(), a.y = y2.data(), a.mean = mean2.data(), a.rstd = rstd2.data();
                rows(a, 0, 5);
                EXPECT_TRUE(sum2.intact() && y2.intact() && mean2.intact() && rstd2.intact());
                EXPECT_LT(relative_error(sum2.tensor({5, cols}), wanted_sum), 1e-7) << cols;
                EXPECT_LT(relative_error(y2.tensor({5, cols}), wanted), 1e-6) << cols;
                EXPECT_LT(relative_error(rstd2.tensor({5}), wanted_rstd), 1e-6) << cols;
            }
        }
}

TEST(LayerNorm, EveryLevelsBackwardEqualsTheReferenceAndWritesNothingElse) {
    for (const std::int64_t cols : kWidths)
        for (const double probability : {0.0, 0.3}) {
            const Inputs in(5, cols, DType::f32);
            // A large eps, because dx of a row of one element is 0 times 1 / sqrt(eps): rounding would be all that is compared.
            const auto forward = layer_norm_forward(in.x, in.gamma, in.beta, 1);
            const Dropout dropout(probability, 99);
            Guarded<float> dx(5 * cols), d_sublayer(5 * cols), d_affine(2 * cols);
            std::fill_n(d_affine.data(), 2 * cols, 0.25f);
            LayerNormBackwardArrays<float> a{in.dy.data<float>(),
                                             in.d_sum.data<float>(),
                                             in.x.data<float>(),
                                             in.gamma.data<float>(),
                                             forward.mean.data<float>(),
                                             forward.rstd.data<float>(),
                                             dx.data(),
                                             d_sublayer.data(),
                                             cols,
                                             dropout};
            reference::layer_norm_backward_rows(a, 0, 5, d_affine.data());
            for (auto* rows : HEDDLE_ALL_LEVELS(layer_norm_backward_rows)) {
                Guarded<float> dx2(5 * cols), d_sublayer2(5 * cols), d_affine2(2 * cols);
                std::fill_n(d_affine2.data(), 2 * cols, 0.25f);
                a.dx = dx2.data(), a.d_sublayer = d_sublayer2.data();
                rows(a, 0, 5, d_affine2.data());
                EXPECT_TRUE(dx2.intact() && d_sublayer2.intact() && d_affine2.intact());
                EXPECT_LT(relative_error(dx2.tensor({5, cols}), dx.tensor({5, cols})), 2e-6) << cols;
                EXPECT_LT(relative_error(d_sublayer2.tensor({5, cols}), d_sublayer.tensor({5, cols})), 2e-6) << cols;
                EXPECT_LT(relative_error(d_affine2.tensor({2, cols}), d_affine.tensor({2, cols})), 2e-6) << cols;
            }
        }
}

TEST(LayerNorm, GradientIsOrthogonalToOnesAndToTheNormalisedRow) {
    const Inputs in(4, 100, DType::f64);
    const Tensor ones = Tensor::full({100}, 1, DType::f64);
    const auto r = layer_norm_forward(in.x, ones, Tensor::zeros({100}, DType::f64), 1e-12);
    const Tensor dx = layer_norm_backward(in.dy, in.x, ones, r.mean, r.rstd, true, {}, {});
    for (std::int64_t row = 0; row < 4; ++row) {
        double along_ones = 0, along_y = 0;
        for (std::int64_t j = row * 100; j < row * 100 + 100; ++j) {
            along_ones += dx.data<double>()[j];
            along_y += dx.data<double>()[j] * r.y.data<double>()[j];
        }
        EXPECT_LT(std::abs(along_ones), 1e-10);
        EXPECT_LT(std::abs(along_y), 1e-9);
    }
}

// With the variance 0 the gradient is (gamma dy - its mean) / sqrt(eps). An eps outside the root would give it over eps, and a
// root of the variance alone 1 / sqrt(0).
TEST(LayerNorm, GradientOfAConstantRowIsBoundedByTheRootOfEps) {
    for (const DType dtype : {DType::f32, DType::f64}) {
        Inputs in(1, 40, dtype);
        const Tensor x = Tensor::full({1, 40}, 3, dtype);
        const auto r = layer_norm_forward(x, in.gamma, in.beta, 1e-6);
        const std::vector<double> dx = layer_norm_backward(in.dy, x, in.gamma, r.mean, r.rstd, true, {}, {}).to_vector();
        std::vector<double> wanted = in.dy.to_vector();
        double mean = 0;
        for (std::size_t j = 0; j < 40; ++j) mean += (wanted[j] *= in.gamma.to_vector()[j]) / 40;
        for (std::size_t j = 0; j < 40; ++j) EXPECT_NEAR(dx[j], (wanted[j] - mean) * 1e3, dtype == DType::f64 ? 1e-9 : 2e-3);
    }
}

TEST(ResidualLayerNorm, HasTheBitsOfTheResidualFollowedByTheNorm) {
    for (const double probability : {0.0, 0.1, 0.7})
        for (const DType dtype : {DType::f32, DType::f64})
            for (const std::int64_t cols : kWidths) {
                const Inputs in(70, cols, dtype);
                const Dropout dropout(probability, 77);
                const auto r = residual_layer_norm_forward(in.x, in.sublayer, in.gamma, in.beta, kEps, dropout);
                const Tensor sum = residual_forward(in.x, in.sublayer, dropout);
                const auto alone = layer_norm_forward(sum, in.gamma, in.beta, kEps);
                EXPECT_TRUE(same_bits(r.sum, sum)) << cols << " " << probability;
                EXPECT_LT(relative_error(r.sum, cases::plain_residual(in.x, in.sublayer, dropout)),
                          dtype == DType::f32 ? 1e-7 : 1e-15);
                EXPECT_TRUE(same_bits(r.y, alone.y)) << cols;
                EXPECT_TRUE(same_bits(r.mean, alone.mean) && same_bits(r.rstd, alone.rstd));
            }
}

TEST(ResidualLayerNorm, BackwardMakesTheDropoutMaskAgain) {
    const Inputs in(20, 100, DType::f32);
    const Dropout dropout(0.4, 3);
    const auto r = residual_layer_norm_forward(in.x, in.sublayer, in.gamma, in.beta, kEps, dropout);
    const auto [dx, d_sublayer] = residual_layer_norm_backward({}, in.dy, r.sum, in.gamma, r.mean, r.rstd, dropout, true, {}, {});
    for (std::int64_t row = 0; row < 20; ++row)
        for (std::int64_t j = 0; j < 100; ++j) {
            const float factor = dropout.keeps_row(row, j) ? static_cast<float>(dropout.scale()) : 0.0f;
            EXPECT_EQ(d_sublayer.data<float>()[row * 100 + j], dx.data<float>()[row * 100 + j] * factor);
        }
}

TEST(LayerNorm, NamesWhatDoesNotFit) {
    const Inputs in(4, 6, DType::f32);
    const Tensor five = Tensor::zeros({5}, DType::f32);
    expect_error([&] { layer_norm_forward(in.x, five, in.beta, kEps); }, "layer_norm: gamma has shape [5], wanted [6]");
    expect_error([&] { layer_norm_forward(in.x, in.gamma, five, kEps); }, "layer_norm: beta has shape [5], wanted [6]");
    expect_error([&] { layer_norm_forward(in.x, in.gamma.to(DType::f64), in.beta, kEps); }, "gamma is f64, wanted f32");
    expect_error([&] { layer_norm_forward(in.x, in.gamma, in.beta, 0); }, "eps is 0, wanted a positive number");
    expect_error([&] { layer_norm_forward(Tensor::zeros({3, 0}, DType::f32), in.gamma, in.beta, kEps); }, "at least one column");
    expect_error([&] { residual_layer_norm_forward(in.x, five, in.gamma, in.beta, kEps, {}); },
                 "residual_layer_norm: sublayer has shape [5], wanted [4, 6]");
    const Tensor i32 = Tensor::zeros({4, 6}, DType::i32), i32_row = Tensor::zeros({6}, DType::i32);
    expect_error([&] { layer_norm_forward(i32, i32_row, i32_row, kEps); }, "i32");
}

// ---- RMS normalisation

TEST(RmsNorm, GivesAMeanSquareOfOneAndKeepsTheMean) {
    const Inputs in(7, 130, DType::f32);
    const LayerNormResult result = rms_norm_forward(in.x, Tensor::full({130}, 1, DType::f32), kEps);
    EXPECT_FALSE(result.mean.defined());
    for (std::int64_t row = 0; row < 7; ++row) {
        double square = 0;
        for (std::int64_t j = 0; j < 130; ++j) {
            const double value = result.y.data<float>()[row * 130 + j];
            square += value * value / 130;
            EXPECT_NEAR(value, in.x.data<float>()[row * 130 + j] * result.rstd.data<float>()[row], 1e-6);
        }
        EXPECT_NEAR(square, 1, 1e-4);
    }
}

// A row times a power of two has the same normalised row and its gradient over that power, also where squares overflow.
TEST(RmsNorm, NormalisesRowsWhoseSquaresOverflowAndRowsOfZeros) {
    for (const DType dtype : {DType::f32, DType::f64})
        for (const std::int64_t cols : {3, 48, 1040}) {
            const Inputs in(3, cols, dtype);
            const LayerNormResult want = rms_norm_forward(in.x, in.gamma, 1e-30);
            Tensor x = in.x.clone();
            const int power = dtype == DType::f32 ? 90 : 600;
            dispatch_float("test", dtype, [&]<class T>(TypeTag<T>) {
                for (T& each : x.mutable_values<T>()) each = std::ldexp(each, power);
            });
            const LayerNormResult given = rms_norm_forward(x, in.gamma, kEps);
            EXPECT_LT(relative_error(given.y, want.y.to(DType::f64)), dtype == DType::f32 ? 1e-6 : 1e-14) << cols;
            const Tensor dx = rms_norm_backward(in.dy, x, in.gamma, given.rstd, true, {});
            EXPECT_TRUE(std::isfinite(dx.to_vector()[0]));
            EXPECT_TRUE(
                same_bits(rms_norm_forward(Tensor::zeros({2, cols}, dtype), in.gamma, kEps).y, Tensor::zeros({2, cols}, dtype)));
        }
}

TEST(RmsNorm, ResidualFormIsTheTwoOps) {
    for (const std::int64_t cols : kWidths) {
        const Inputs in(5, cols, DType::f32);
        const Dropout dropout(0.25, 8);
        const LayerNormResult both = residual_rms_norm_forward(in.x, in.sublayer, in.gamma, kEps, dropout);
        EXPECT_TRUE(same_bits(both.sum, residual_forward(in.x, in.sublayer, dropout))) << cols;
        const LayerNormResult alone = rms_norm_forward(both.sum, in.gamma, kEps);
        EXPECT_TRUE(same_bits(both.y, alone.y)) << cols;
        EXPECT_TRUE(same_bits(both.rstd, alone.rstd)) << cols;
    }
}

TEST(RmsNorm, NamesWhatDoesNotFit) {
    const Inputs in(4, 6, DType::f32);
    const Tensor five = Tensor::zeros({5}, DType::f32), dgamma = Tensor::zeros({6}, DType::f32);
    expect_error([&] { rms_norm_forward(in.x, five, kEps); }, "rms_norm: gamma has shape [5], wanted [6]");
    expect_error([&] { rms_norm_forward(in.x, in.gamma, -1); }, "rms_norm: eps is -1, wanted a positive number");
    expect_error([&] { residual_rms_norm_forward(in.x, five, in.gamma, kEps, {}); },
                 "residual_rms_norm: sublayer has shape [5], wanted [4, 6]");
    expect_error([&] { rms_norm_backward(in.dy, in.x, in.gamma, five, true, dgamma); },
                 "rms_norm_backward: rstd has shape [5], wanted [4]");
}

TEST(RmsNorm, GivesEachInputItsGradientInEveryCombination) {
    const Inputs in(9, 20, DType::f64);
    const Dropout dropout(0.25, 6);
    const auto r = residual_rms_norm_forward(in.x, in.sublayer, in.gamma, kEps, dropout);
    const Tensor dgamma = Tensor::zeros({20}, DType::f64);
    const auto wanted = residual_rms_norm_backward(in.d_sum, in.dy, r.sum, in.gamma, r.rstd, dropout, true, dgamma);
    for (int needs = 1; needs < 8; ++needs) {
        Variable x(in.x.clone(), needs & 1), sublayer(in.sublayer.clone(), needs & 2), gamma(in.gamma.clone(), needs & 4);
        const auto out = ops::residual_rms_norm(x, sublayer, gamma, kEps, dropout);
        backward(std::vector{out.sum, out.normalised}, std::vector{in.d_sum, in.dy});
        EXPECT_TRUE(!(needs & 1) || same_bits(x.grad(), wanted.dx)) << needs;
        EXPECT_TRUE(!(needs & 2) || same_bits(sublayer.grad(), wanted.d_sublayer)) << needs;
        EXPECT_TRUE(!(needs & 4) || same_bits(gamma.grad(), dgamma)) << needs;
    }
}

// ---- on the tape

struct Leaves {
    Variable x, sublayer, gamma, beta;
    explicit Leaves(const Inputs& in, int needs = 15)
        : x(in.x.clone(), needs & 1),
          sublayer(in.sublayer.clone(), needs & 2),
          gamma(in.gamma.clone(), needs & 4),
          beta(in.beta.clone(), needs & 8) {}
};

TEST(ResidualLayerNorm, GivesEachInputItsGradientInEveryCombination) {
    const Inputs in(9, 20, DType::f64);
    const Dropout dropout(0.25, 6);
    const auto r = residual_layer_norm_forward(in.x, in.sublayer, in.gamma, in.beta, kEps, dropout);
    const Tensor dgamma = Tensor::zeros({20}, DType::f64), dbeta = Tensor::zeros({20}, DType::f64);
    const auto wanted =
        residual_layer_norm_backward(in.d_sum, in.dy, r.sum, in.gamma, r.mean, r.rstd, dropout, true, dgamma, dbeta);
    for (int needs = 1; needs < 16; ++needs) {
        Leaves leaves(in, needs);
        const auto out = ops::residual_layer_norm(leaves.x, leaves.sublayer, leaves.gamma, leaves.beta, kEps, dropout);
        backward(std::vector{out.sum, out.normalised}, std::vector{in.d_sum, in.dy});
        EXPECT_TRUE(!(needs & 1) || same_bits(leaves.x.grad(), wanted.dx)) << needs;
        EXPECT_TRUE(!(needs & 2) || same_bits(leaves.sublayer.grad(), wanted.d_sublayer)) << needs;
        EXPECT_TRUE(!(needs & 4) || same_bits(leaves.gamma.grad(), dgamma)) << needs;
        EXPECT_TRUE(!(needs & 8) || same_bits(leaves.beta.grad(), dbeta)) << needs;
    }
}

TEST(ResidualLayerNorm, WithoutDropoutGivesBothInputsOneGradientEach) {
    const Inputs in(9, 20, DType::f64);
    Leaves leaves(in);
    backward(ops::residual_layer_norm(leaves.x, leaves.sublayer, leaves.gamma, leaves.beta).normalised, in.dy);
    EXPECT_TRUE(same_bits(leaves.x.grad(), leaves.sublayer.grad()));
    EXPECT_FALSE(leaves.x.grad().shares_storage(leaves.sublayer.grad()));
}

TEST(LayerNorm, AddsToTheGradientsThatItsParametersHold) {
    const Inputs in(9, 20, DType::f64);
    Leaves leaves(in);
    for (int time = 0; time < 2; ++time) backward(ops::layer_norm(leaves.x, leaves.gamma, leaves.beta), in.dy);
    Leaves once(in);
    backward(ops::layer_norm(once.x, once.gamma, once.beta), in.dy);
    for (std::int64_t j = 0; j < 20; ++j) {
        EXPECT_EQ(leaves.gamma.grad().data<double>()[j], 2 * once.gamma.grad().data<double>()[j]);
        EXPECT_EQ(leaves.beta.grad().data<double>()[j], 2 * once.beta.grad().data<double>()[j]);
    }
    EXPECT_EQ(leaves.x.grad().data<double>()[5], 2 * once.x.grad().data<double>()[5]);
}

}  // namespace
}  // namespace heddle::kernels
