#include "kernels/activation/activation.h"

#include <numbers>

#include "core/dual.h"
#include "tests/numbers.h"
#include "tests/support.h"

namespace heddle::kernels {
namespace {

double phi(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

constexpr Activation kSmooth[] = {Activation::gelu, Activation::gelu_tanh, Activation::silu};

double value_of(double x, Activation f) {
    if (f == Activation::silu) return x / (1 + std::exp(-x));
    if (f == Activation::gelu) return x * phi(x);
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

// The slope by its definition, at a step where f64 keeps 1e-9.
double slope_of(double x, Activation f) {
    const double h = 1e-3;
    const auto difference = [&](double step) { return (value_of(x + step, f) - value_of(x - step, f)) / (2 * step); };
    return (4 * difference(h / 2) - difference(h)) / 3;
}

// From -12 to 12 in 4096 steps, then numbers far outside.
Tensor probes(DType dtype) {
    Tensor x = Tensor::empty({4103}, DType::f64);
    for (std::int64_t i = 0; i < 4096; ++i) x.mutable_data<double>()[i] = -12 + static_cast<double>(i) * 24 / 4095;
    const double far[] = {0, -0.0, 1e4, -1e4, 1e15, -1e15, 1e-20};
    std::copy(std::begin(far), std::end(far), x.mutable_data<double>() + 4096);
    return x.to(DType::f32).to(dtype);
}

TEST(SmoothActivations, EqualTheirFormulasInDouble) {
    const Tensor x = probes(DType::f64);
    for (const Activation f : kSmooth) {
        const Tensor y = activation_forward(x, f), dx = activation_backward(Tensor::full(x.shape(), 1, DType::f64), x, f);
        for (std::int64_t i = 0; i < 4096; ++i) {
            const double at = x.data<double>()[i];
            EXPECT_NEAR(y.data<double>()[i], value_of(at, f), 1e-14) << at;
            EXPECT_NEAR(dx.data<double>()[i], slope_of(at, f), 1e-9) << at;
        }
    }
}

TEST(SmoothActivations, HaveFiniteDerivativesOnDualNumbersFarFromZero) {
    const Tensor x = Tensor::from({-1e4, -40.0, -23.5, -9.0, -1.0, 1.0, 23.5, 1e4}, {8});
    const Tensor ones = Tensor::full(x.shape(), 1, DType::f64);
    for (const Activation f : kSmooth) {
        const Tensor forward = derivative_of(activation_forward(make_dual(x, ones), f)),
                     backward = activation_backward(ones, x, f);
        const Tensor second =
            derivative_of(activation_backward(make_dual(ones, Tensor::zeros(x.shape(), DType::f64)), make_dual(x, ones), f));
        for (std::int64_t i = 0; i < x.numel(); ++i) {
            EXPECT_NEAR(forward.data<double>()[i], backward.data<double>()[i], 1e-14) << x.data<double>()[i];
            EXPECT_TRUE(std::isfinite(second.data<double>()[i])) << x.data<double>()[i];
        }
    }
}

TEST(Relu, CutsNegativeNumbersOff) {
    const Tensor x = Tensor::from(std::vector<float>{-2, -0.0f, 0, 1e-30f, 3, std::nanf("")}, {6});
    const Tensor y = relu_forward(x), dx = relu_backward(Tensor::full({6}, 5, DType::f32), y);
    const float wanted[] = {0, 0, 0, 1e-30f, 3}, slopes[] = {0, 0, 0, 5, 5};
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(y.data<float>()[i], wanted[i]) << i;
        EXPECT_EQ(dx.data<float>()[i], slopes[i]) << i;
    }
    EXPECT_TRUE(std::isnan(y.data<float>()[5]));
}

}  // namespace
}  // namespace heddle::kernels
