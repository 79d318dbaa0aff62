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

TEST(SmoothActivations, EveryLevelEqualsTheReferenceAndWritesNothingElse) {
    const Tensor x = probes(DType::f32), wide = probes(DType::f64), ones = Tensor::full(x.shape(), 1, DType::f64);
    const std::int64_t n = x.numel();
    const Tensor dy = normal(x.shape(), DType::f32, 3);
    for (const Activation f : kSmooth) {
        const Tensor wanted = activation_forward(wide, f), slope = activation_backward(ones, wide, f);
        for (const auto values : HEDDLE_ALL_LEVELS(smooth_values)) {
            Guarded<float> y(n);
            values(x.data<float>(), y.data(), n, f);
            EXPECT_TRUE(y.intact());
            for (std::int64_t i = 0; i < n; ++i) {
                const double want = wanted.data<double>()[i];
                // Relative, also where the result is tiny; x^2 / 2 of a large |x| is rounded before it is an exponent.
                const double bound = std::abs(want) * 2e-6 * std::max(1.0, want < 0 ? std::abs(x.data<float>()[i]) : 0.0) + 1e-30;
                EXPECT_TRUE(std::abs(y.data()[i] - want) <= bound)
                    << x.data<float>()[i] << ": " << y.data()[i] << " not " << want;
            }
        }
        for (const auto gradients : HEDDLE_ALL_LEVELS(smooth_gradients)) {
            Guarded<float> dx(n);
            gradients(dy.data<float>(), x.data<float>(), dx.data(), n, f);
            EXPECT_TRUE(dx.intact());
            for (std::int64_t i = 0; i < n; ++i) {
                const double up = dy.data<float>()[i],
                             want = up * (std::abs(x.data<float>()[i]) > 1e9 ? (x.data<float>()[i] > 0 ? 1 : 0)
                                                                             : slope.data<double>()[i]);
                EXPECT_TRUE(std::abs(dx.data()[i] - want) <= 1e-6 * std::abs(up)) << x.data<float>()[i];
            }
        }
    }
}

TEST(SmoothActivations, AnElementsBitsDoNotDependOnItsPlace) {
    const Tensor x = normal({1025}, DType::f32, 6, 0, 2);
    for (const Activation f : kSmooth) {
        const Tensor whole = activation_forward(x, f);
        for (std::int64_t begin : {1, 31, 33, 500, 1024}) {
            const Tensor part = activation_forward(x.slice(begin, 1025), f);
            EXPECT_TRUE(same_bits(part, whole.slice(begin, 1025))) << begin;
        }
    }
}

TEST(SmoothActivations, KeepANan) {
    const Tensor x = Tensor::full({3}, std::nan(""), DType::f32);
    for (const Activation f : kSmooth) {
        for (const double y : activation_forward(x, f).to_vector()) EXPECT_TRUE(std::isnan(y));
        for (const double dx : activation_backward(x, x, f).to_vector()) EXPECT_TRUE(std::isnan(dx));
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

TEST(Activation, NamesWhatDoesNotFit) {
    const Tensor x = Tensor::zeros({2, 3}, DType::f32);
    expect_error(
        [&] {
            relu_backward(x, Tensor::zeros({3, 2}, DType::f32));
        },
        "relu_backward: y has shape [3, 2], wanted [2, 3]");
    expect_error([&] { gelu_backward(x, Tensor::zeros({2, 3}, DType::f64)); }, "gelu_backward: x is f64, wanted f32");
    expect_error([&] { gelu_forward(Tensor::zeros({2}, DType::bf16)); }, "bf16");
    expect_error([&] { silu_forward(Tensor()); }, "silu: x is an undefined tensor");
    expect_error([&] { silu_backward(x, Tensor::zeros({3}, DType::f32)); }, "silu_backward: x has shape [3], wanted [2, 3]");
    expect_error([&] { relu_forward(Tensor()); }, "relu: x is an undefined tensor");
}

}  // namespace
}  // namespace heddle::kernels
