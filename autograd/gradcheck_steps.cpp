#include "autograd/gradcheck_steps.h"

#include <algorithm>
#include <cmath>

#include "autograd/gradcheck_impl.h"

namespace heddle {
namespace proof {
namespace {

constexpr int kStepsShown = 19;          // half a power of ten apart
constexpr double kLargestFitted = 0.02;  // larger steps are outside the quadratic regime
constexpr double kClear = 30;            // multiple of the rounding error

// The median of the slopes between neighbouring steps.
double fitted_slope(const StepErrors& errors) {
    Values slopes;
    for (std::size_t i = 0; i + 1 < errors.steps.size(); ++i) {
        const double here = errors.remainders[i], next = errors.remainders[i + 1];
        if (errors.steps[i] > kLargestFitted || !(next > kClear * errors.rounding) || !std::isfinite(here)) continue;
        slopes.push_back(std::log(here / next) / std::log(errors.steps[i] / errors.steps[i + 1]));
    }
    if (slopes.empty()) return std::numeric_limits<double>::quiet_NaN();
    const auto middle = slopes.begin() + std::ssize(slopes) / 2;
    std::nth_element(slopes.begin(), middle, slopes.end());
    return *middle;
}

}  // namespace
}  // namespace proof

StepErrors step_errors(const GradientCase& one) {
    using namespace proof;
    const GradientFunctions function = [&](std::span<const Variable> in) { return std::vector<Variable>{one.function(in)}; };
    Subject subject(function, one.inputs, one.options.device);
    const FreshTape fresh;
    Forward pass = subject.forward(std::vector<bool>(subject.inputs(), true));
    const Values cotangent = random_values(std::ssize(pass.value), one.options.seed);
    const std::vector<Values> direction = random_direction(subject, one.options.seed + 1);
    const std::vector<Values> gradients = subject.back(pass, cotangents_of(cotangent, {pass.outputs[0].shape()}));
    double slope = 0, scale = 0;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
        slope += dot(gradients[i], direction[i]);
        scale += dot_of_magnitudes(gradients[i], direction[i]);
    }
    if (scale == 0) scale = 1;  // a gradient that is zero by symmetry
    const double center = dot(cotangent, pass.value);
    const auto phi = [&](double h) {
        double result = std::numeric_limits<double>::quiet_NaN();  // also outside of the function's domain
        passes([&] { return result = dot(cotangent, subject.value_along(direction, h)), true; },
               [](const char*) { return false; });
        return result;
    };
    StepErrors errors;
    errors.rounding = kEpsilon * dot_of_magnitudes(cotangent, pass.value) / scale;
    for (int i = 0; i < kStepsShown; ++i) {
        const double h = std::pow(10, -1 - i / 2.0), above = phi(h), below = phi(-h);
        errors.steps.push_back(h);
        errors.differences.push_back(std::abs((above - below) / (2 * h) - slope) / scale);
        errors.remainders.push_back(std::abs(above - center - h * slope) / scale);
    }
    errors.taylor_slope = fitted_slope(errors);
    return errors;
}

}  // namespace heddle
