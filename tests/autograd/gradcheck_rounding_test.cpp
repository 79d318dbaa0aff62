// Correct functions whose values are coarse, huge or near a kink: the gradient check proves them or says why it cannot, never
// calls their backward wrong, and still finds a wrong one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "autograd/gradcheck_impl.h"
#include "autograd/ops.h"
#include "tests/autograd/gradcheck_functions.h"

namespace heddle {
namespace {

double relu(double x) { return std::max(x, 0.0); }
double relu_slope(double x) { return x > 0 ? 1 : 0; }

// Counts over many inputs: how often a function is proven, rejected for a reason, and blamed, and how often a backward that is
// 1.001 times the right one is proven.
struct Verdicts {
    int proven = 0, refused = 0, blamed = 0, missed = 0;
};

Verdicts verdicts(const std::function<GradientFunction(double factor)>& function, double mean, double deviation) {
    Verdicts found;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        Tensor x = Tensor::empty({6}, DType::f64);
        fill_normal(x, mean, deviation, 100 + seed);
        GradcheckOptions options;
        options.seed = seed;
        const GradcheckReport right = gradcheck(function(1), {x}, options);
        const bool blamed =
            right.message.find("is wrong") != std::string::npos || right.message.find("not linear") != std::string::npos;
        (right.passed ? found.proven : blamed ? found.blamed : found.refused) += 1;
        if (blamed) ADD_FAILURE() << "seed " << seed << ": " << right.message;
        if (gradcheck(function(1.001), {x}, options).passed) ++found.missed;
    }
    return found;
}

using Smooth = std::function<double(double)>;

Verdicts verdicts(const Smooth& f, const Smooth& slope, double mean = 0, double deviation = 1) {
    return verdicts(
        [&](double factor) -> GradientFunction {
            return [f, slope, factor](In in) {
                Tensor y = in[0].value().clone();
                for (double& each : y.mutable_values<double>()) each = f(each);
                return record(y, {.op = "map",
                                  .where = Where::current(),
                                  .inputs = {in[0]},
                                  .saved = {in[0].value()},
                                  .backward = [slope, factor](Gradients& g) {
                                      Tensor dx = g.saved(0).clone();
                                      for (double& each : dx.mutable_values<double>()) each = factor * slope(each);
                                      g.give(0, product(g.output(), dx));
                                  }});
            };
        },
        mean, deviation);
}

// ---- kinks

TEST(GradcheckKink, ReluCloseToItsKinkIsProven) {
    for (const double distance : {1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13})
        for (const std::uint64_t seed : {1, 2, 3}) {
            GradcheckOptions options;
            options.seed = seed;
            const Tensor x = numbers({distance, 1, -distance});
            const GradcheckReport report = gradcheck([](auto in) { return ops::relu(in[0]); }, {x}, options);
            EXPECT_TRUE(report.passed) << distance << ", seed " << seed << ": " << report.message;
            // A wrong side is found unless a kink could explain the difference.
            const auto wrong = mapping(relu, [](double at) { return at > 0 ? 3.0 : 0.0; });
            EXPECT_FALSE(gradcheck(wrong, {x}, options).passed) << distance;
        }
    for (const double distance : {1e-14, 1e-16, 1e-300, 0.0})
        expect_not_blamed(gradcheck(mapping(relu, relu_slope), {numbers({distance, 1, -distance})}), "a kink or jump");
}

TEST(GradcheckKink, IsNeverBlamedOnBackward) {
    for (const double deviation : {1e-11, 1e-9, 1e-6, 1e-3, 1e-2, 1.0}) {
        EXPECT_GE(verdicts(relu, relu_slope, 0, deviation).proven, 15) << deviation;
        EXPECT_GE(
            verdicts([](double x) { return std::abs(x); }, [](double x) { return x > 0 ? 1.0 : -1.0; }, 0, deviation).proven, 15)
            << deviation;
    }
    verdicts([](double x) { return std::max(x - 0.3, 0.0); }, [](double x) { return x > 0.3 ? 1.0 : 0.0; }, 0.3, 1e-3);
    verdicts([](double x) { return std::clamp(x, -0.5, 0.5); }, [](double x) { return std::abs(x) < 0.5 ? 1.0 : 0.0; });
    verdicts([](double x) { return relu(x) * relu(x); }, [](double x) { return 2 * relu(x); }, 0, 1e-2);
}

// Not only for the probed elements: the random direction crosses many kinks.
TEST(GradcheckKink, ManyOfThemInALargeInput) {
    GradcheckOptions options;
    options.elements_up_to = 16;
    const Tensor x = random_input({3000}, 1, 1e-6);
    const GradcheckReport report = gradcheck([](auto in) { return ops::relu(in[0]); }, {x}, options);
    EXPECT_TRUE(report.passed) << report.message;
    const auto wrong = mapping(relu, [](double at) { return at > 1e-6 ? 3.0 : relu_slope(at); });
    options.elements_up_to = 1;
    EXPECT_FALSE(gradcheck(wrong, {x}, options).passed);
}

// ---- coarse values

TEST(GradcheckRounding, DifferencesOfLargeNumbers) {
    for (const double large : {1e6, 1e8, 1e9}) {
        const Verdicts found = verdicts([large](double x) { return (x + large) - large; }, [](double) { return 1.0; });
        EXPECT_EQ(found.proven, 20) << large;
        EXPECT_EQ(found.missed, 0) << large;
    }
    for (const double large : {1e11, 1e12, 1e13})
        EXPECT_EQ(verdicts([large](double x) { return (x + large) - large; }, [](double) { return 1.0; }).missed, 0) << large;
    EXPECT_EQ(verdicts([](double x) { return (x * x + 1e8) - 1e8; }, [](double x) { return 2 * x; }).missed, 0);
    EXPECT_EQ(verdicts([](double x) { return 1 - std::cos(x); }, [](double x) { return std::sin(x); }, 0, 1e-3).missed, 0);
    EXPECT_EQ(
        verdicts([](double x) { return std::sqrt(1 + x) - 1; }, [](double x) { return 0.5 / std::sqrt(1 + x); }, 0, 1e-9).missed,
        0);
}

// The sum of x + large over 20 elements, minus 20 large.
GradientFunction total(double large, double factor) {
    return [=](In in) {
        double sum = 0;
        for (const double each : in[0].value().values<double>()) sum += each + large;
        return record(Tensor::full({}, sum - 20 * large, DType::f64),
                      {.op = "total",
                       .where = Where::current(),
                       .inputs = {in[0]},
                       .backward = [factor, shape = in[0].shape()](Gradients& g) {
                           g.give(0, Tensor::full(shape, factor * g.output().item(), DType::f64));
                       }});
    };
}

TEST(GradcheckRounding, ASumThatCancels) {
    for (const double large : {1e5, 1e7, 1e8}) {
        const GradcheckReport report = gradcheck(total(large, 1), {random_input({20}, 3)});
        EXPECT_TRUE(report.passed) << large << ": " << report.message;
        expect_refused(gradcheck(total(large, 1.01), {random_input({20}, 3)}), "1.01 times the true gradient");
    }
    expect_not_blamed(gradcheck(total(1e11, 1), {random_input({20}, 3)}), "cannot be proven");
}

// One of two elements is rounded coarsely: the value changes at each step, but not because of that element.
TEST(GradcheckRounding, OneElementOfTwoIsCoarse) {
    const auto mixed = [](bool forgets) {
        return [forgets](In in) {
            const double* x = in[0].value().data<double>();
            return record(Tensor::full({}, (x[0] + 1e8) - 1e8 + x[1], DType::f64),
                          {.op = "mixed", .where = Where::current(), .inputs = {in[0]}, .backward = [forgets](Gradients& g) {
                               g.give(0, numbers({forgets ? 0 : g.output().item(), g.output().item()}));
                           }});
        };
    };
    expect_proven(gradcheck(mixed(false), {numbers({0.3, 0.7})}), 1e-8);
    expect_refused(gradcheck(mixed(true), {numbers({0.3, 0.7})}), "the gradient of input 0 [2] is wrong at [0]");
}

TEST(GradcheckRounding, SaysThatAFunctionMovesInStepsOfFloat) {
    const auto check = [](Real f, Real slope) { return gradcheck(mapping(f, slope), {some_numbers()}); };
    const std::string because = "the value moves in steps as coarse as those of float rounding";
    expect_not_blamed(check([](double x) { return double(float(x)); }, one), because);
    expect_not_blamed(check([](double x) { return double(float(x) * float(x)); }, twice), because);
    expect_not_blamed(check([](double x) { return double(std::sin(float(x))); }, std::cos), because);
    expect_not_blamed(check([](double x) { return 3 * double(float(std::exp(x))); }, [](double x) { return 3 * std::exp(x); }),
                      because);
    expect_refused(check([](double x) { return double(float(x) * float(x)); }, [](double x) { return 2.02 * x; }),
                   "1.01 times the true gradient");
    EXPECT_EQ(verdicts([](double x) { return double(std::exp(float(x))); }, [](double x) { return std::exp(x); }).missed, 0);
}

TEST(GradcheckRounding, FastWaves) {
    for (const double fast : {3e3, 1e4, 1e5, 1e6})
        EXPECT_EQ(
            verdicts([fast](double x) { return std::sin(fast * x); }, [fast](double x) { return fast * std::cos(fast * x); })
                .missed,
            0)
            << fast;
}

// ---- huge and tiny values

TEST(GradcheckRange, GradientsCloseToTheLargestNumberAreProven) {
    const auto exponential = [](auto in) { return ops::exp(in[0]); };
    for (const double at : {690.0, 700.0, 709.0, -700.0}) {
        const GradcheckReport report = gradcheck(exponential, {numbers({at, at - 1})});
        EXPECT_TRUE(report.passed) << at << ": " << report.message;
    }
    for (const double factor : {1e300, 1e307, 1e-300, 1e-310}) {
        const GradcheckReport report = gradcheck([=](auto in) { return ops::scale(in[0], factor); }, {numbers({0.3, 2})});
        EXPECT_TRUE(report.passed) << factor << ": " << report.message;
    }
    expect_not_blamed(gradcheck(exponential, {numbers({709.7, 1})}),
                      "cannot be proven at [0]: no step gives a finite difference");
}

TEST(GradcheckRange, AClippedGradientOfHugeNumbersIsFound) {
    const auto clipped = [](In in) {
        return exponential(in[0], [](Gradients& g) {
            Tensor dx = product(g.output(), g.saved(0));
            for (double& each : dx.mutable_values<double>()) each = std::clamp(each, -1e292, 1e292);
            g.give(0, dx);
        });
    };
    expect_refused(gradcheck(clipped, {numbers({650, 649})}), "backward is not linear in the output's gradient");
}

// ---- words

TEST(GradcheckWords, ScalarsHaveNoIndexAndNaNNoSign) {
    const auto logarithm = [](auto in) { return ops::log(in[0]); };
    expect_refused(gradcheck(logarithm, {Tensor::full({}, -1, DType::f64)}),
                   "the output is NaN; a derivative needs finite values");
    expect_refused(gradcheck(logarithm, {Tensor::full({}, 0, DType::f64)}), "the output is -inf; a derivative");
    expect_refused(gradcheck(logarithm, {numbers({1, -1})}), "the output [2] holds NaN at [1]; a derivative");
    const GradcheckReport wrong = gradcheck(mapping(square, one), {Tensor::full({}, 3, DType::f64)});
    expect_refused(wrong, "the gradient of input 0 is wrong\n");
    for (const char* empty : {"[]", "-nan"}) EXPECT_EQ(wrong.message.find(empty), std::string::npos) << wrong.message;
}

TEST(GradcheckWords, AFactorCloseToOneIsOneNumber) {
    for (const auto& [factor, text] : {std::pair{1 + 1e-7, "1.0000001 times"}, std::pair{1 - 2e-9, "0.999999998 times"}})
        expect_refused(gradcheck(
                           [=](In in) {
                               return exponential(in[0], [=](Gradients& g) {
                                   Tensor dx = product(g.output(), g.saved(0));
                                   for (double& each : dx.mutable_values<double>()) each *= factor;
                                   g.give(0, dx);
                               });
                           },
                           {some_numbers()}),
                       text);
}

// With an error in a small element, the best-fitting factor is exactly 1.
TEST(GradcheckWords, AFactorOfExactlyOneIsNoCause) {
    const proof::Values analytic{2000, 2 + 1e-11}, numeric{2000, 2}, allowed{2e-10, 1e-12};
    const std::string cause =
        proof::likely_cause({.shape = {2}, .analytic = analytic, .numeric = numeric, .allowed = allowed, .output = {2}});
    EXPECT_EQ(cause.find("a constant factor"), std::string::npos) << cause;
}

}  // namespace
}  // namespace heddle
