#include "kernels/layer_norm/layer_norm.h"

#include "autograd/ops.h"
#include "core/dispatch.h"
#include "tests/numbers.h"
#include "tests/support.h"

namespace heddle::kernels {
namespace {

constexpr double kEps = 1e-5;

struct Inputs {
    Tensor x, sublayer, gamma, beta, dy;

    Inputs(std::int64_t rows, std::int64_t cols, DType dtype, std::uint64_t key = 1)
        : x(normal({rows, cols}, DType::f32, key, 0.3, 2).to(dtype)),
          sublayer(normal({rows, cols}, DType::f32, key + 1).to(dtype)),
          gamma(normal({cols}, DType::f32, key + 2, 1, 0.3).to(dtype)),
          beta(normal({cols}, DType::f32, key + 3).to(dtype)),
          dy(normal({rows, cols}, DType::f32, key + 4).to(dtype)) {}
};

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

// ---- RMS normalisation

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

TEST(ResidualLayerNorm, WithoutDropoutGivesBothInputsOneGradientEach) {
    const Inputs in(9, 20, DType::f64);
    const Variable x(in.x, true), sublayer(in.sublayer, true), gamma(in.gamma, true), beta(in.beta, true);
    backward(ops::residual_layer_norm(x, sublayer, gamma, beta).normalised, in.dy);
    EXPECT_TRUE(same_bits(x.grad(), sublayer.grad()));
    EXPECT_FALSE(x.grad().shares_storage(sublayer.grad()));
}

// To the bit: it is added last, in whole vectors and in the last one.
TEST(ResidualLayerNorm, AddsTheGradientOfTheSum) {
    const Tensor sum = normal({3, 37}, DType::f32, 1), dy = normal({3, 37}, DType::f32, 2),
                 d_sum = normal({3, 37}, DType::f32, 3);
    const Tensor gamma = normal({37}, DType::f32, 4);
    const LayerNormResult layer = layer_norm_forward(sum, gamma, gamma, 1e-5), rms = rms_norm_forward(sum, gamma, 1e-5);
    const auto of_layer = [&](const Tensor& of_sum) {
        return residual_layer_norm_backward(of_sum, dy, sum, gamma, layer.mean, layer.rstd, {}, true, {}, {}).dx;
    };
    const auto of_rms = [&](const Tensor& of_sum) {
        return residual_rms_norm_backward(of_sum, dy, sum, gamma, rms.rstd, {}, true, {}).dx;
    };
    EXPECT_TRUE(same_bits(of_layer(d_sum), of_layer({}).add(d_sum)));
    EXPECT_TRUE(same_bits(of_rms(d_sum), of_rms({}).add(d_sum)));
}

TEST(LayerNorm, NamesAnEpsAndRowsThatDoNotFit) {
    const Inputs in(4, 6, DType::f32);
    expect_error([&] { layer_norm_forward(in.x, in.gamma, in.beta, 0); }, "eps is 0, wanted a positive number");
    expect_error([&] { rms_norm_forward(in.x, in.gamma, -1); }, "rms_norm: eps is -1, wanted a positive number");
    expect_error([&] { layer_norm_forward(Tensor::zeros({3, 0}, DType::f32), in.gamma, in.beta, kEps); }, "at least one column");
}

}  // namespace
}  // namespace heddle::kernels
