// The gradient check of plain functions of numbers.
#include <gtest/gtest.h>

#include "tests/autograd/gradcheck_functions.h"

namespace heddle {
namespace {

double norm_squared(std::span<const double> x) {
    double sum = 0;
    for (const double each : x) sum += each * each;
    return sum;
}
void its_gradient(std::span<const double> x, std::span<double> dx) {
    for (std::size_t i = 0; i < x.size(); ++i) dx[i] = 2 * x[i];
}

TEST(GradcheckNumbers, ProvesAFunctionAndItsDerivative) {
    const GradcheckReport report = gradcheck(norm_squared, its_gradient, {0.3, -1.2, 2.1});
    expect_proven(report, 1e-9);
    EXPECT_EQ(report.compared, 3);
    const double factor = 3;
    const auto scaled = [factor](std::span<const double> x) { return factor * norm_squared(x); };
    const auto slope = [factor](std::span<const double> x, std::span<double> dx) {
        for (std::size_t i = 0; i < x.size(); ++i) dx[i] = factor * 2 * x[i];
    };
    GradcheckOptions options;
    options.seed = 7;
    const std::vector<double> x{1, 2, 3, 4};
    expect_proven(gradcheck(scaled, slope, x, options), 1e-9);
}

TEST(GradcheckNumbers, RefusesAWrongDerivativeAndOneThatForgetsANumber) {
    const auto forgets = [](std::span<const double> x, std::span<double> dx) { dx[0] = 2 * x[0]; };
    expect_refused(gradcheck(norm_squared, forgets, {0.3, -1.2}), "memory that was never written");
    const auto doubles = [](std::span<const double> x, std::span<double> dx) {
        for (std::size_t i = 0; i < x.size(); ++i) dx[i] = 4 * x[i];
    };
    expect_refused(gradcheck(norm_squared, doubles, {0.3, -1.2}), "backward is 2 times the true gradient");
    expect_refused(gradcheck(norm_squared, its_gradient, {}), "has no elements");
}

}  // namespace
}  // namespace heddle
