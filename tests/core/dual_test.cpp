// core/dual.h: the rules of calculus, and the dtype that stays on the CPU and out of files.
#include "core/dual.h"

#include <cmath>
#include <functional>
#include <limits>

#include "core/device.h"
#include "core/print.h"
#include "core/safetensors.h"
#include "tests/numbers.h"
#include "tests/support.h"

namespace heddle {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The derivative by central differences with two steps, to about 1e-10.
template <class Function>
double slope_of(Function function, double x) {
    const auto central = [&](double h) { return (function(x + h) - function(x - h)) / (2 * h); };
    const double wide = central(1e-3), half = central(5e-4);
    return (4 * half - wide) / 3;
}

// `function` takes double and Dual.
template <class Function>
void expect_derivative(const char* name, Function function, double x) {
    const Dual given = function(Dual(x, 3.0));
    EXPECT_EQ(given.value, function(x)) << name << " at " << x;
    EXPECT_NEAR(given.derivative, 3 * slope_of(function, x), 1e-8 * (1 + std::abs(given.derivative))) << name << " at " << x;
}

TEST(Dual, FunctionsHaveTheirDerivatives) {
    for (const double x : {0.3, 1.7, -0.8}) {
        const auto each = [x](const char* name, auto function) { expect_derivative(name, function, x); };
        each("exp", [](auto at) {
            using std::exp;
            return exp(at);
        });
        each("tanh", [](auto at) {
            using std::tanh;
            return tanh(at);
        });
        each("sin", [](auto at) {
            using std::sin;
            return sin(at);
        });
        each("cos", [](auto at) {
            using std::cos;
            return cos(at);
        });
        each("erf", [](auto at) {
            using std::erf;
            return erf(at);
        });
        each("erfc", [](auto at) {
            using std::erfc;
            return erfc(at);
        });
        if (x < 0) continue;
        each("log", [](auto at) {
            using std::log;
            return log(at);
        });
        each("sqrt", [](auto at) {
            using std::sqrt;
            return sqrt(at);
        });
    }
}

TEST(Dual, OperatorsFollowTheRulesOfCalculus) {
    for (const double x : {0.3, 1.7, -0.8}) {
        const auto each = [x](const char* name, auto function) { expect_derivative(name, function, x); };
        each("-x", [](auto at) { return -at; });
        each("x + x x", [](auto at) { return at + at * at; });
        each("x - x x", [](auto at) { return at - at * at; });
        each("x x / (x + 3)", [](auto at) { return at * at / (at + 3); });
        each("constants on the left", [](auto at) { return 2 - 3 * at + 1 / (at + 4); });
        each("constants on the right", [](auto at) { return at * 2.5 - 3 + at / 7; });
        each("in place", [](auto at) {
            auto y = at;
            y += at;
            y *= at + 1;
            y -= 2 * at;
            y /= at + 3;
            return y;
        });
    }
}

TEST(Dual, ComparesByValue) {
    const Dual a(1, 5), b(2, -5), same(1, 0);
    EXPECT_TRUE(a < b && b > a && a <= same && a >= same && a == same && a == 1 && a != b && 2 > a);
    const Dual nan(std::nan(""), 1);
    EXPECT_FALSE(nan <= a || nan >= a || nan == nan);
    EXPECT_TRUE(isnan(nan) && !isnan(Dual(1, std::nan(""))));
    EXPECT_TRUE(isinf(Dual(-kInfinity, 1)) && !isinf(a));
    EXPECT_TRUE(isfinite(a) && !isfinite(Dual(1, kInfinity)) && !isfinite(nan));
    EXPECT_EQ(-std::numeric_limits<Dual>::infinity(), Dual(-kInfinity));
}

TEST(Dual, AnInfiniteValueTimesAConstantKeepsItsDerivative) {
    const Dual minus(-kInfinity, 3);
    EXPECT_EQ((2 * minus).derivative, 6);
    EXPECT_EQ((minus * 2).derivative, 6);
    EXPECT_EQ((minus / 2).derivative, 1.5);
    EXPECT_EQ(exp(minus).derivative, 0);
}

TEST(Dual, TensorsHoldValuesAndDerivatives) {
    const Tensor value = Tensor::from({1.5, -2.0, 3.0}, {3}), derivative = Tensor::from({0.25, 0.0, -1.0}, {3});
    const Tensor dual = make_dual(value, derivative);
    EXPECT_EQ(dual.dtype(), DType::dual);
    EXPECT_EQ(dual.bytes(), 48);
    EXPECT_TRUE(same_bits(dual.to(DType::f64), value));
    EXPECT_TRUE(same_bits(derivative_of(dual), derivative));
    EXPECT_EQ(dual.to_vector(), value.to_vector());
    EXPECT_TRUE(same_bits(derivative_of(value.to(DType::dual)), Tensor::zeros({3}, DType::f64)));
    EXPECT_EQ(Tensor::full({2}, 7, DType::dual).values<Dual>()[1], Dual(7));
    EXPECT_EQ(to_text(dual), to_text(value));
    expect_error([&] { make_dual(value, Tensor::zeros({2}, DType::f64)); }, "derivative has shape [2], wanted [3]");
    expect_error([&] { make_dual(value.to(DType::f32), derivative); }, "value is f32, wanted f64");
    expect_error([&] { derivative_of(value); }, "dual is f64, wanted dual");
}

TEST(Dual, StaysOnTheCpuAndOutOfFiles) {
    expect_error([] { Tensor::zeros({2}, DType::dual, Device::cuda); }, "dual numbers lie on the CPU only");
    const TemporaryFolder folder;
    expect_error(
        [&] {
            save_safetensors(folder / "x.safetensors", {{"x", Tensor::zeros({2}, DType::dual)}});
        },
        "files hold no dual numbers");
}

TEST(Dual, AnOpWithoutLoopsForItIsNamed) {
    expect_error([] { dispatch_float("softplus", DType::dual, [](auto) {}); }, "softplus: its loops do not take dual numbers");
    expect_error([] { dispatch_float("softplus", DType::i32, [](auto) {}); },
                 "softplus: the CPU computes in f32 or f64, but was given i32");
    expect_error([] { dispatch_real("softplus", DType::u8, [](auto) {}); }, "but was given u8");
    DType found = DType::u8;
    dispatch_real("softplus", DType::dual, [&]<class T>(TypeTag<T>) { found = dtype_of<T>(); });
    EXPECT_EQ(found, DType::dual);
}

}  // namespace
}  // namespace heddle
