// A gradient check of the output's sum: the cotangent is 1 everywhere.
//
//     wrong    check d/dx sum_i y_i
//     right    check d/dx sum_i c_i y_i with random c
//
// The op under test is softmax with a planted mistake: its gradient is multiplied by 1000, 0 or -1.

#include "apps/lab/kit.h"
#include "apps/picture/chart.h"
#include "autograd/gradcheck.h"

namespace heddle::lab::cotangent_of_ones {
namespace {

constexpr double factors[] = {1, 1000, 0, -1};

Variable softmax_times(const Variable& x, double factor) {
    const Tensor y = kernels::softmax_forward(x.value());
    return record(
        y, {.op = "softmax", .where = Where::current(), .inputs = {x}, .saved = {y}, .backward = [factor](Gradients& gradients) {
                Tensor dx = kernels::softmax_backward(gradients.output(), gradients.saved(0));
                for (double& value : dx.mutable_values<double>()) value *= factor;
                gradients.give(0, dx);
            }});
}

Result measure(const Options& options) {
    const Tensor logits = normal({4, 7}, 1, key(options, "logits"), DType::f64);
    const GradcheckOptions check{.seed = options.seed};  // its cotangent is random
    std::vector<double> random, ones, caught = {0, 0};
    for (const double factor : factors) {
        const GradcheckReport by_random = gradcheck([=](auto in) { return softmax_times(in[0], factor); }, {logits}, check);
        const GradcheckReport by_ones = gradcheck([=](auto in) { return ops::sum(softmax_times(in[0], factor)); }, {logits},
                                                  {.seed = options.seed, .zero_by_symmetry = {0}});
        random.push_back(by_random.worst);
        ones.push_back(by_ones.worst);
        if (factor == 1) continue;
        caught[0] += !by_random.passed;
        caught[1] += !by_ones.passed;
    }
    const picture::BarChart chart{.title = "error that the check finds",
                                  .y = {.label = "error relative to the gradient", .logarithmic = true},
                                  .groups = {"correct", "x 1000", "x 0", "x -1"},
                                  .bars = {{"random", random}, {"ones", ones}},
                                  .levels = {{"tolerance", check.tolerance}}};
    return {.variants = {"random", "ones"},
            .findings = {{"mistakes caught, of 3", caught},
                         {"error found in the correct backward", {random[0], ones[0]}},
                         {"error found in a backward x 1000", {random[1], ones[1]}},
                         {"error found in a backward x 0", {random[2], ones[2]}},
                         {"error found in a backward x -1", {random[3], ones[3]}}},
            .figures = {{svg(mistakes_first(chart)), "A check of the output's sum sees no mistake."}}};
}

}  // namespace

Experiment experiment() {
    return {
        .name = "cotangent-of-ones",
        .group = "Checks",
        .title = "a gradient check of the output's sum",
        .caught_by = "Gradcheck.SeesWhatACotangentOfOnesWouldHide",
        .why =
            "The probabilities of a row sum to one whatever the logits are, so the gradient of their sum is zero. Zero times "
            "1000, 0 or -1 is still zero: the check compares zeros with zeros and passes. A random cotangent (the gradient of "
            "the output that backward starts from, here 1 everywhere) tests a direction in which the output really changes, and "
            "all three mistakes are far outside the tolerance. (Heddle's gradcheck refuses a gradient of zero unless the caller "
            "declares it, as the wrong check does here.)",
        .wrong = R"(
// refused unless the gradient of zero is declared
const GradcheckReport report = gradcheck(
    [](auto in) { return ops::sum(ops::softmax(in[0])); },
    {input}, {.zero_by_symmetry = {0}});
)",
        .right = R"(
// checks the output itself, with a random cotangent
const GradcheckReport report = gradcheck(
    [](auto in) { return ops::softmax(in[0]); }, {input});
)",
        .run = measure};
}

}  // namespace heddle::lab::cotangent_of_ones
