// Faults that the gradient check must find, with a message for each; and correct functions that are hard to differentiate, which
// it must prove, or reject without calling the backward wrong.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "autograd/ops.h"
#include "core/format.h"
#include "tests/autograd/gradcheck_functions.h"
#include "tests/support.h"

namespace heddle {
namespace {

// ---- comparisons that compare nothing

TEST(GradcheckFault, AnOutputWithoutElements) {
    expect_refused(gradcheck([](In in) { return ops::slice(in[0], 0, 2, 2); }, {random_input({4, 3}, 1)}),
                   "the output [0, 3] has no elements, so nothing can be proven");
}

TEST(GradcheckFault, AnInputWithoutElements) {
    const auto rows = [](In in) { return ops::concat(in, 0); };
    expect_refused(gradcheck(rows, {random_input({2, 3}, 1), Tensor::zeros({0, 3}, DType::f64)}),
                   "input 1 [0, 3] has no elements");
    GradcheckOptions declared;
    declared.zero_by_symmetry = {1};
    expect_proven(gradcheck(rows, {random_input({2, 3}, 1), Tensor::zeros({0, 3}, DType::f64)}, declared), 1e-10);
}

TEST(GradcheckFault, NoInputs) {
    expect_refused(gradcheck([](In) { return Variable(some_numbers()); }, {}), "no input, so nothing can be proven");
}

TEST(GradcheckFault, AGradientOfZerosThatNobodyDeclared) {
    // All values are on the flat side, where a backward that gives nothing is right.
    const auto flat = mapping([](double x) { return std::max(x, 0.0); }, [](double) { return 0.0; });
    const Tensor negative = numbers({-1, -2, -0.5});
    expect_not_blamed(gradcheck(flat, {negative}), "every derivative by input 0 [3] is zero within 0, so nothing can be proven");
    GradcheckOptions declared;
    declared.zero_by_symmetry = {0};
    expect_proven(gradcheck(flat, {negative}, declared), 1e-8);
}

// ---- errors smaller than a fixed tolerance

TEST(GradcheckFault, BackwardInSinglePrecision) {
    expect_refused(gradcheck(
                       [](In in) {
                           return exponential(in[0], [](Gradients& g) {
                               g.give(0, product(g.output(), g.saved(0).to(DType::f32).to(DType::f64)));
                           });
                       },
                       {some_numbers()}),
                   "computes or stores something in single precision");
}

TEST(GradcheckFault, AnErrorBesideAnInputOf1e8) {
    const Tensor x = numbers({1e8, 0.5, -2});
    expect_proven(gradcheck(mapping(square, twice), {x}), 1e-8);
    const auto wrong = mapping(square, [](double each) { return each == 0.5 ? 1.01 : 2 * each; });
    expect_refused(gradcheck(wrong, {x}), "the gradient of input 0 [3] is wrong at [1]");
}

// ---- faults that only show in repeated or different runs

TEST(GradcheckFault, AssignmentForAddition) {
    expect_refused(gradcheck(
                       [](In in) {
                           return exponential(in[0], [](Gradients& g) {
                               Tensor dx = g.accumulate_into(0);
                               dx.copy_(product(g.output(), g.saved(0)));
                           });
                       },
                       {some_numbers()}),
                   "the gradient that is already there is overwritten: `=` for `+=`");
}

TEST(GradcheckFault, AdditionTwice) {
    expect_refused(gradcheck(
                       [](In in) {
                           return exponential(in[0], [](Gradients& g) {
                               Tensor dx = g.accumulate_into(0);
                               const Tensor more = product(g.output(), g.saved(0));
                               for (std::int64_t i = 0; i < dx.numel(); ++i)
                                   dx.mutable_data<double>()[i] += dx.data<double>()[i] + more.data<double>()[i];
                           });
                       },
                       {some_numbers()}),
                   "backward uses the gradient that is already there");
}

TEST(GradcheckFault, AStaticBuffer) {
    auto buffer = std::make_shared<Tensor>();
    expect_refused(gradcheck(
                       [buffer](In in) {
                           *buffer = mapped(in[0].value(), std::exp);
                           return exponential(in[0], [buffer](Gradients& g) { g.give(0, product(g.output(), *buffer)); });
                       },
                       {some_numbers()}),
                   "reads a buffer that both passes share");
}

TEST(GradcheckFault, SavedDataThatTheFirstBackwardUsesUp) {
    expect_refused(gradcheck(
                       [](In in) {
                           auto kept = std::make_shared<Tensor>(mapped(in[0].value(), std::exp));
                           return exponential(in[0], [kept](Gradients& g) {
                               const Tensor y = std::exchange(*kept, Tensor());
                               check(y.defined(), "exponential: nothing is kept");
                               g.give(0, product(g.output(), y));
                           });
                       },
                       {some_numbers()}),
                   "a second backward over the same (retained) tape fails: backward changes or consumes what it saved");
}

TEST(GradcheckFault, ASavedDerivativeOfTheFirstInputs) {
    const Tensor at_first = mapped(some_numbers(), std::exp);
    expect_refused(
        gradcheck([=](In in) { return exponential(in[0], [=](Gradients& g) { g.give(0, product(g.output(), at_first)); }); },
                  {some_numbers()}),
        "at another point");
}

TEST(GradcheckFault, InputsThatTheFunctionChanges) {
    expect_refused(gradcheck(
                       [](In in) {
                           Tensor x = in[0].value();
                           x.mutable_data<double>()[2] *= 2;
                           return exponential(in[0], right_backward);
                       },
                       {some_numbers()}),
                   "the function changes input 0 in place");
}

TEST(GradcheckFault, InputsThatBackwardChanges) {
    expect_refused(gradcheck(
                       [](In in) {
                           return exponential(in[0], [x = in[0].value()](Gradients& g) mutable {
                               x.mutable_data<double>()[1] = 0;
                               right_backward(g);
                           });
                       },
                       {some_numbers()}),
                   "backward changes input 0 in place");
}

TEST(GradcheckFault, AnInputThatBackwardReadsWithoutSavingIt) {
    expect_refused(
        gradcheck(
            [](In in) {
                return exponential(in[0],
                                   [x = in[0].value()](Gradients& g) { g.give(0, product(g.output(), mapped(x, std::exp))); });
            },
            {some_numbers()}),
        "input 0 [5] was changed in place between forward and backward, and backward gives input 0 [5] another gradient");
}

TEST(GradcheckFault, AClippedGradient) {
    expect_refused(gradcheck(
                       [](In in) {
                           return exponential(in[0], [](Gradients& g) {
                               Tensor dx = product(g.output(), g.saved(0));
                               for (double& each : dx.mutable_values<double>()) each = std::clamp(each, -1e3, 1e3);
                               g.give(0, dx);
                           });
                       },
                       {some_numbers()}),
                   "backward is not linear in the output's gradient");
}

// ---- several outputs

// exp(x) and x^2.
std::vector<Variable> two_outputs(In in, Backward backward) {
    const Tensor& x = in[0].value();
    const Tensor y = mapped(x, std::exp);
    return record_many({y, mapped(x, square)}, {.op = "two_outputs",
                                                .where = Where::current(),
                                                .inputs = {in[0]},
                                                .saved = {y, mapped(x, twice)},
                                                .backward = std::move(backward)});
}

GradcheckReport check_two_outputs(const Backward& backward) {
    return gradcheck([=](In in) { return two_outputs(in, backward); }, {some_numbers()});
}

void both(Gradients& g) {
    g.give(0, product(g.output(0), g.saved(0)));
    g.give(0, product(g.output(1), g.saved(1)));
}

TEST(GradcheckFault, NoneInAnOpOfSeveralOutputs) {
    const GradcheckReport report = check_two_outputs(both);
    expect_proven(report, 1e-9);
    // The sum, each output by itself, and a Jacobian of 10 outputs.
    EXPECT_EQ(report.compared, 5 + 2 * 5 + 5 * 10);
}

// The error bound of 1e8 x would hide a mistake of 1e-5 in the other output.
TEST(GradcheckFault, NoneThatALargeOutputCouldHide) {
    const auto pair = [](In in) {
        const Tensor& x = in[0].value();
        return record_many(
            {mapped(x, [](double each) { return 1e8 * each; }), mapped(x, [](double each) { return std::sin(each) + 1e9; })},
            {.op = "pair",
             .where = Where::current(),
             .inputs = {in[0]},
             .saved = {mapped(x, [](double) { return 1e8; }), mapped(x, std::cos)},
             .backward = both});
    };
    expect_not_blamed(gradcheck(pair, {some_numbers()}), "of output 1 alone");
}

TEST(GradcheckFault, AnOutputThatBackwardForgets) {
    expect_refused(check_two_outputs([](Gradients& g) { g.give(0, product(g.output(0), g.saved(0))); }),
                   "the gradient of input 0 [5] is wrong");
}

TEST(GradcheckFault, BackwardOfOneOutputAlone) {
    expect_refused(check_two_outputs([](Gradients& g) {
                       if (g.has_output(0) && g.has_output(1)) both(g);
                   }),
                   "when backward starts from output 0 alone");
}

// ---- without the tape

// y = a b and z = exp(a), whose gradients are a plain function.
PlainFunction pair(double factor) {
    return {.forward = [](std::span<const Tensor> in) -> std::vector<Tensor> {
                return {product(in[0], in[1]), mapped(in[0], std::exp)};
            },
            .backward = [factor](std::span<const Tensor> in, std::span<const Tensor> out,
                                 std::span<const Tensor> cotangents) -> std::vector<Tensor> {
                Tensor da = product(cotangents[0], in[1]);
                const Tensor through_exp = product(cotangents[1], out[1]);
                for (std::int64_t i = 0; i < da.numel(); ++i)
                    da.mutable_data<double>()[i] += factor * through_exp.data<double>()[i];
                return {da, product(cotangents[0], in[0])};
            }};
}

TEST(GradcheckPlain, ProvesAPairOfFunctions) { expect_proven(gradcheck(pair(1), {some_numbers(), random_input({5}, 1)}), 1e-9); }

TEST(GradcheckPlain, RefusesAWrongDerivative) {
    expect_refused(gradcheck(pair(1.01), {some_numbers(), random_input({5}, 1)}), "the gradient of input 0 [5] is wrong");
    PlainFunction forgetful = pair(1);
    forgetful.backward = [](auto in, auto, auto) { return std::vector<Tensor>{in[0]}; };
    expect_refused(gradcheck(forgetful, {some_numbers(), random_input({5}, 1)}), "backward gave 1 gradients for 2 inputs");
    forgetful.backward = [](auto, auto, auto) { return std::vector<Tensor>(2); };
    expect_refused(gradcheck(forgetful, {some_numbers(), random_input({5}, 1)}), "backward hands this input nothing");
}

// ---- right functions that are hard to differentiate

TEST(GradcheckHard, SquareRootsAndLogarithmsNearZero) {
    expect_proven(gradcheck(mapping(std::sqrt, [](double x) { return 0.5 / std::sqrt(x); }), {numbers({0.002, 1e-5, 3})}), 1e-8);
    expect_proven(gradcheck(mapping(std::log, [](double x) { return 1 / x; }), {numbers({0.01, 1e-6, 5})}), 1e-8);
}

TEST(GradcheckHard, ANarrowPeak) {
    const auto peak = mapping([](double x) { return std::exp(-1e6 * square(x - 0.7)); },
                              [](double x) { return -2e6 * (x - 0.7) * std::exp(-1e6 * square(x - 0.7)); });
    expect_proven(gradcheck(peak, {numbers({0.7003, 0.6995})}), 1e-8);
}

TEST(GradcheckHard, IntegersAreCaptured) {
    const Tensor x = random_input({4, 3}, 5), i = Tensor::from({1, 3, 1}, {3});
    const auto rows = [&](auto in) { return ops::gather(in[0], i); };
    expect_proven(gradcheck(rows, {x}), 1e-8);
    expect_refused(gradcheck([](auto in) { return ops::gather(in[0], in[1].value()); }, {x, i}),
                   "gradcheck: input 1 is i32, wanted f64; convert it with to(DType::f64)");
}

TEST(GradcheckHard, ALargeConstant) {
    expect_proven(gradcheck(mapping([](double x) { return x + 1e8; }, one), {some_numbers()}), 1e-8);
    expect_not_blamed(gradcheck(mapping([](double x) { return x + 1e20; }, one), {some_numbers()}),
                      "every derivative by input 0 [5] is zero within");
    expect_not_blamed(gradcheck(mapping([](double x) { return std::sin(x) + 1e9; }, std::cos), {some_numbers()}),
                      "hides the change");
}

TEST(GradcheckHard, LargeAndSmallInputs) {
    expect_proven(gradcheck(mapping(std::sin, std::cos), {numbers({1e8, 1e-8, 1})}), 1e-6);
    expect_proven(gradcheck(mapping(square, twice), {numbers({1e150, 1e-150, 1})}), 1e-8);
}

TEST(GradcheckHard, AKinkNearbyIsProvenAndAKinkHereIsNamed) {
    const auto absolute = mapping(std::abs, [](double x) { return x < 0 ? -1.0 : 1.0; });
    expect_proven(gradcheck(absolute, {numbers({1, -2, 1e-5})}), 1e-8);
    for (const double at : {0.0, 1e-12})
        expect_not_blamed(gradcheck(absolute, {numbers({1, -2, at})}),
                          "the function has a kink or jump within a step of this input");
    // On the kink, central differences give the mean of both sides' derivatives.
    const auto halfway = mapping([](double x) { return std::max(x, 0.0); }, [](double x) { return x > 0 ? 1 : x < 0 ? 0 : 0.5; });
    expect_not_blamed(gradcheck(halfway, {numbers({1, -2, 0})}), "the function has a kink at [2] of input 0 [3]");
}

TEST(GradcheckHard, AJumpIsNotBlamedOnBackward) {
    const auto steps = mapping([](double x) { return x + std::floor(x); }, one);
    expect_proven(gradcheck(steps, {numbers({0.3, 1.5})}), 1e-8);
    expect_not_blamed(gradcheck(steps, {numbers({0.3, 2})}), "the function has a kink or jump");
}

TEST(GradcheckHard, ValuesThatAreNotFiniteNearby) {
    const auto root = mapping(std::sqrt, [](double x) { return 0.5 / std::sqrt(x); });
    expect_refused(gradcheck(root, {numbers({1, -1})}), "a derivative needs finite values");
    expect_not_blamed(gradcheck(root, {numbers({1, 1e-300})}), "cannot be proven at [1]");
    expect_refused(gradcheck(root, {numbers({1, std::numeric_limits<double>::infinity()})}), "a derivative needs finite values");
}

TEST(GradcheckHard, AFunctionThatThrowsOutsideOfItsDomain) {
    const auto checked = [](In in) {
        for (const double x : in[0].value().values<double>()) check(x > 0, "log: x is {}, wanted above 0", x);
        return map(in[0], std::log, [](double x) { return 1 / x; });
    };
    expect_proven(gradcheck(checked, {numbers({0.004, 2})}), 1e-8);
    expect_refused(gradcheck(checked, {numbers({-1, 2})}), "the function threw: log: x is -1, wanted above 0");
}

}  // namespace
}  // namespace heddle
