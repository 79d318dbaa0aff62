// The vectorised functions of f32 beside the standard library's in f64, over all exponents and signs, at every level.
#include <bit>
#include <functional>

#include "kernels/elementwise/detail/elementwise.h"
#include "tests/numbers.h"

namespace heddle::kernels {
namespace {

using Formula = double (*)(double);

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }
double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : x == 0 ? 0 : x; }

const std::pair<Unary, Formula> kFunctions[] = {
    {Unary::exp, std::exp},   {Unary::expm1, std::expm1},
    {Unary::log, std::log},   {Unary::log1p, std::log1p},
    {Unary::sqrt, std::sqrt}, {Unary::rsqrt, [](double x) { return 1 / std::sqrt(x); }},
    {Unary::sin, std::sin},   {Unary::cos, std::cos},
    {Unary::tanh, std::tanh}, {Unary::sigmoid, sigmoid},
    {Unary::erf, std::erf},   {Unary::softplus, softplus},
    {Unary::sign, sign},      {Unary::abs, [](double x) { return std::abs(x); }}};

// Every 9,973rd float, NaN, infinities and denormals among them, and the numbers near 0 one after the other.
std::vector<float> arguments() {
    std::vector<float> all = {0.0f, -0.0f, std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()};
    for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += 9973)
        all.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    for (int i = -40000; i <= 40000; ++i) all.push_back(static_cast<float>(i) * 0.0025f);
    return all;
}

// The distance in units of the last place that a float near `wanted` has.
double ulps(double given, double wanted) {
    if (given == wanted || (std::isnan(given) && std::isnan(wanted))) return 0;
    const double rounded = static_cast<double>(static_cast<float>(wanted));
    if (std::isinf(given) || std::isinf(rounded) || std::isnan(given) || std::isnan(wanted))
        return given == rounded ? 0 : std::numeric_limits<double>::infinity();
    int exponent = 0;
    std::frexp(wanted, &exponent);
    return std::abs(given - wanted) / std::ldexp(1.0, std::max(exponent - 24, -149));
}

TEST(ElementwiseAccuracy, IsWithinThreeUlps) {
    const std::vector<float> x = arguments();
    std::vector<float> y(x.size());
    for (const auto& [function, formula] : kFunctions)
        for (const auto values : HEDDLE_ALL_LEVELS(unary_values)) {
            values(function, {}, x.data(), y.data(), static_cast<std::int64_t>(x.size()));
            double worst = 0;
            float where = 0;
            for (std::size_t i = 0; i < x.size(); ++i) {
                const double wanted = formula(static_cast<double>(x[i])), error = ulps(static_cast<double>(y[i]), wanted);
                if (!(error <= worst)) {
                    worst = error;
                    where = x[i];
                }
                if (wanted == 0) {
                    EXPECT_EQ(std::signbit(y[i]), std::signbit(wanted)) << name(function) << " of " << x[i];
                }
            }
            EXPECT_LE(worst, 3) << name(function) << " of " << where;
        }
}

TEST(ElementwiseAccuracy, AnElementHasTheSameBitsAtEveryPlace) {
    const Tensor x = normal({67}, DType::f32, 1, 0, 3);
    for (const auto& [function, formula] : kFunctions) {
        const Tensor all = unary(function, x);
        for (const std::int64_t first : {0, 1, 31, 64, 66})
            EXPECT_TRUE(same_bits(unary(function, x.slice(first, 67)), all.slice(first, 67))) << name(function) << first;
    }
}

TEST(ElementwiseAccuracy, TheTwoUpperLevelsAgreeToTheBit) {
    const auto levels = HEDDLE_ALL_LEVELS(unary_values);
    if (levels.size() < 3) GTEST_SKIP() << "this processor has no AVX-512";
    const std::vector<float> x = arguments();
    std::vector<float> narrow(x.size()), wide(x.size());
    for (const auto& [function, formula] : kFunctions) {
        levels[1](function, {}, x.data(), narrow.data(), static_cast<std::int64_t>(x.size()));
        levels[2](function, {}, x.data(), wide.data(), static_cast<std::int64_t>(x.size()));
        std::int64_t different = 0;
        for (std::size_t i = 0; i < x.size(); ++i)
            different += !std::isnan(wide[i]) && std::bit_cast<int>(narrow[i]) != std::bit_cast<int>(wide[i]);
        EXPECT_EQ(different, 0) << name(function);
    }
}

}  // namespace
}  // namespace heddle::kernels
