// The error as a function of the step, for correct, wrong and linear functions.
#include "autograd/gradcheck_steps.h"

#include <cmath>

#include "autograd/ops.h"
#include "tests/autograd/proofs_support.h"

namespace heddle {
namespace {

GradientCase squares(double factor) {
    return {"mul",
            "planted",
            with_wrong_gradient([](auto in) { return ops::mul(in[0], in[0]); }, 0,
                                [factor](const Tensor& gradient, const Tensor&) {
                                    Tensor changed = gradient.clone();
                                    for (double& each : changed.mutable_values<double>()) each *= factor;
                                    return changed;
                                }),
            {random_input({3, 4}, 1)}};
}

TEST(StepErrors, TheRemainderOfARightBackwardFallsWithTheSquareOfTheStep) {
    const StepErrors errors = step_errors(squares(1));
    EXPECT_NEAR(errors.taylor_slope, 2, 0.05);
    ASSERT_EQ(errors.steps.size(), 19u);
    EXPECT_DOUBLE_EQ(errors.steps.front(), 0.1);
    EXPECT_NEAR(errors.steps.back(), 1e-10, 1e-22);
    EXPECT_EQ(errors.differences.size(), 19u);
    EXPECT_EQ(errors.remainders.size(), 19u);
    // For x x the only error of differences is rounding, which a small step magnifies.
    EXPECT_LT(errors.differences.front(), 1e-14);
    EXPECT_GT(errors.differences.back(), 1e-9);
}

TEST(StepErrors, ThatOfAWrongOneFallsWithTheStep) {
    const StepErrors errors = step_errors(squares(1.01));
    EXPECT_NEAR(errors.taylor_slope, 1, 0.1);
    EXPECT_GT(*std::min_element(errors.differences.begin(), errors.differences.end()), 1e-3);
}

TEST(StepErrors, ALinearFunctionHasNoSlope) {
    const GradientCase linear{"scale", "planted", [](auto in) { return ops::scale(in[0], 3); }, {random_input({5}, 2)}};
    const StepErrors errors = step_errors(linear);
    EXPECT_TRUE(std::isnan(errors.taylor_slope)) << errors.taylor_slope;
    EXPECT_LT(errors.remainders.front(), 1e-14);
}

TEST(StepErrors, OutsideOfTheDomainThereIsNoFigure) {
    const GradientCase log{"log", "planted", [](auto in) { return ops::log(in[0]); }, {Tensor::from({1e-3, 1e-3}, {2})}};
    const StepErrors errors = step_errors(log);
    EXPECT_TRUE(std::isnan(errors.differences.front()));
    EXPECT_NEAR(errors.taylor_slope, 2, 0.1);
}

TEST(StepErrors, EveryCaseHasASlopeOfTwoOrMoreOrNone) {
    for (const GradientCase& one : all_cases()) {
        const double slope = step_errors(one).taylor_slope;
        EXPECT_TRUE(std::isnan(slope) || slope > 1.8) << one.op << ", " << one.what << ": " << slope;
    }
}

}  // namespace
}  // namespace heddle
