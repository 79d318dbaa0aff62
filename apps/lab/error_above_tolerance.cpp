// A check that tests whether the error is too large.
//
//     wrong    if (error > tolerance) refuse
//     wrong    worst = max(worst, error) over all elements, then any comparison
//     right    if (!(error <= tolerance)) refuse
//
// The gradient with NaN is that of a composed softmax of a row of -inf.
#include <algorithm>
#include <cmath>
#include <limits>

#include "apps/lab/kit.h"
#include "apps/picture/chart.h"

namespace heddle::lab::error_above_tolerance {
namespace {

constexpr double tolerance = 1e-5;

struct Case {
    std::string name;
    std::vector<double> given;
    std::vector<double> wanted;
};

std::vector<double> gradient(const Tensor& at, const std::function<Variable(const Variable&)>& function,
                             const Tensor& cotangent) {
    const Variable x(at, true);
    backward(function(x), cotangent);
    return x.grad().to_vector();
}

// A softmax of composed ops of a row that is masked with -inf.
Case masked_row_case(const Options& options) {
    const Tensor row = Tensor::full({1, 8}, -std::numeric_limits<double>::infinity(), DType::f32);
    const Tensor cotangent = normal({1, 8}, 1, key(options, "cotangent"));
    const auto composed = [](const Variable& x) {
        const Variable powers = ops::exp(x);
        return ops::div(powers, ops::sum(powers, -1, true));
    };
    return {"masked row", gradient(row, composed, cotangent),
            gradient(
                row, [](const Variable& x) { return ops::softmax(x); }, cotangent)};
}

// One gradient that is off by one percent and one that is right: any check must reject the first and pass the second.
std::vector<Case> finite_cases(const Options& options) {
    const Tensor logits = normal({1, 8}, 1, key(options, "logits")), cotangent = normal({1, 8}, 1, key(options, "cotangent"));
    const std::vector<double> right = gradient(
        logits, [](const Variable& x) { return ops::softmax(x); }, cotangent);
    std::vector<double> wrong = right;
    for (double& value : wrong) value *= 1.01;
    return {{"x 1.01", wrong, right}, {"right", right, right}};
}

bool refused_unless_small(const Case& one) {
    for (std::size_t i = 0; i < one.given.size(); ++i)
        if (!(std::abs(one.given[i] - one.wanted[i]) <= tolerance)) return true;
    return false;
}

bool refused_when_large(const Case& one) {
    for (std::size_t i = 0; i < one.given.size(); ++i)
        if (std::abs(one.given[i] - one.wanted[i]) > tolerance) return true;
    return false;
}

// std::max(a, b) returns a unless a < b, which is false if b is NaN, so NaN errors are ignored.
double largest_error(const Case& one) {
    double worst = 0;
    for (std::size_t i = 0; i < one.given.size(); ++i) worst = std::max(worst, std::abs(one.given[i] - one.wanted[i]));
    return worst;
}

Result measure(const Options& options) {
    std::vector<Case> cases = {masked_row_case(options)};
    for (Case& one : finite_cases(options)) cases.push_back(std::move(one));
    picture::BarChart chart{.title = "gradients that are refused",
                            .y = {.label = "1: refused", .from = 0, .to = 1},
                            .bars = {{"not (e <= t)"}, {"e > t"}, {"max(e) <= t"}}};
    double nan_cases = 0;
    std::vector<double> nan_refused(3), wrong_refused(3), right_refused(3);
    for (const Case& one : cases) {
        const bool refused[] = {refused_unless_small(one), refused_when_large(one), !(largest_error(one) <= tolerance)};
        const bool is_nan = std::ranges::any_of(one.given, [](double value) { return std::isnan(value); });
        nan_cases += is_nan;
        chart.groups.push_back(one.name);
        for (std::size_t i = 0; i < 3; ++i) {
            chart.bars[i].values.push_back(refused[i]);
            (is_nan ? nan_refused : one.name == "right" ? right_refused : wrong_refused)[i] += refused[i];
        }
    }
    return {
        .variants = {"not (e <= t)", "e > t", "max(e) <= t"},
        .findings = {{"NaN gradients refused", nan_refused},
                     {"NaN gradients there are", {nan_cases, nan_cases, nan_cases}},
                     {"gradients wrong by a percent refused, of 1", wrong_refused},
                     {"right gradients refused, of 1", right_refused}},
        .figures = {{svg(mistakes_first(chart)), "All three agree on finite errors. Only the first one is right about NaN."}}};
}

}  // namespace

Experiment experiment() {
    return {.name = "error-above-tolerance",
            .group = "Checks",
            .title = "a check written error > tolerance: NaN passes",
            .caught_by = "Gradcheck.NamesPlantedMistakes",
            .why =
                "Every comparison with NaN is false, so NaN is never 'too large', and a gradient full of NaN passes. Taking the "
                "maximum first drops the NaN before the comparison, because std::max also tests whether one value is larger. The "
                "opposite test, 'is the error small enough', is also false for NaN, and so rejects it.",
            .wrong = R"(
double worst = 0;
for (std::size_t i = 0; i < given.size(); ++i)
    worst = std::max(worst, std::abs(given[i] - wanted[i]));
if (worst > tolerance) fail("the gradient is wrong");
)",
            .right = R"(
for (std::size_t i = 0; i < given.size(); ++i)
    if (!(std::abs(given[i] - wanted[i]) <= tolerance))
        fail("the gradient is wrong");
)",
            .run = measure};
}

}  // namespace heddle::lab::error_above_tolerance
