// The lab's findings on numerics and training. The margins hold for seeds 1 to 5.
#include <cmath>
#include <limits>

#include "tests/lab/lab_support.h"

namespace heddle::lab {
namespace {

const double infinity = std::numeric_limits<double>::infinity();

TEST(LabNumerics, PositionCodesLoseWavesShiftsOrNorms) {
    const Result result = run_experiment("position-codes");
    const std::string shift = "largest error of the best linear shift by 5", slowest = "slowest wavelength, positions",
                      still = "columns of 512 that move less than 0.01 over 100 positions";
    for (const char* circles : {"paper", "halved"}) {
        EXPECT_LT(result.value(shift, circles), 1e-9);
        EXPECT_NEAR(result.value("least norm of a row", circles), 16, 1e-12);
        EXPECT_NEAR(result.value("greatest norm of a row", circles), 16, 1e-12);
    }
    for (const char* broken : {"doubled", "sine-only", "zero-row"}) EXPECT_GT(result.value(shift, broken), 0.99);
    for (const char* without_norm : {"sine-only", "zero-row"}) EXPECT_EQ(result.value("least norm of a row", without_norm), 0);
    EXPECT_NEAR(result.value(slowest, "paper"), 60611, 1);
    EXPECT_NEAR(result.value(slowest, "halved"), 617, 1);
    EXPECT_NEAR(result.value(slowest, "doubled"), 6.06e8, 1e6);
    EXPECT_EQ(result.value(still, "paper"), 73);
    EXPECT_EQ(result.value(still, "halved"), 0);
    EXPECT_EQ(result.value(still, "doubled"), 293);
}

TEST(LabNumerics, ASecondSoftmaxHasAFloorAndAThousandthOfTheGradient) {
    const Result result = run_experiment("softmax-twice");
    EXPECT_NEAR(result.value("lowest loss there is", "twice"), 5.933, 5e-4);
    EXPECT_EQ(result.value("lowest loss there is", "logits"), 0);
    EXPECT_LT(result.value("loss after 200 steps", "logits"), 0.01);
    EXPECT_GE(result.value("loss after 200 steps", "twice"), 5.9328);
    EXPECT_GT(result.value("gradient of the first target's logit, at the start", "logits"), 0.99);
    EXPECT_LT(result.value("gradient of the first target's logit, at the start", "twice"), 5e-3);
}

TEST(LabNumerics, ReluBeforeTheSoftmaxKillsTargets) {
    const Result result = run_experiment("relu-logits");
    EXPECT_NEAR(result.value("targets without a gradient, at the start", "ReLU"), 0.5, 0.2);
    EXPECT_GT(result.value("targets without a gradient, at the end", "ReLU"), 0.2);
    EXPECT_GT(result.value("loss after 300 steps", "ReLU"), 1);
    EXPECT_EQ(result.value("targets without a gradient, at the start", "logits"), 0);
    EXPECT_EQ(result.value("targets without a gradient, at the end", "logits"), 0);
    EXPECT_LT(result.value("loss after 300 steps", "logits"), 1e-3);
}

TEST(LabNumerics, TheLogarithmOfASoftmaxLosesItsGradientBeforeItsValue) {
    const Result result = run_experiment("log-of-softmax");
    EXPECT_EQ(result.value("gradient at a gap of 90", "log-softmax"), -1);
    EXPECT_TRUE(std::isnan(result.value("gradient at a gap of 90", "log of softmax")));
    EXPECT_NEAR(result.value("loss at a gap of 90", "log of softmax"), 90, 1e-3);
    EXPECT_EQ(result.value("loss at a gap of 104", "log-softmax"), 104);
    EXPECT_EQ(result.value("loss at a gap of 104", "log of softmax"), infinity);
    EXPECT_EQ(result.value("smallest gap with a NaN gradient", "log of softmax"), 89);
    EXPECT_EQ(result.value("smallest gap with an infinite loss", "log of softmax"), 104);
    EXPECT_EQ(result.value("smallest gap with a NaN gradient", "log-softmax"), infinity);
}

TEST(LabNumerics, EpsOutsideTheRootMakesConstantRowsExplode) {
    const Result result = run_experiment("unbiased-norm");
    const std::string at_6 = "largest gradient of a constant row, eps 1e-6",
                      at_8 = "largest gradient of a constant row, eps 1e-8";
    EXPECT_LT(result.value("largest gradient of a constant row, eps 1e-5", "inside"), 2e3);
    EXPECT_NEAR(result.value(at_6, "outside") / result.value(at_6, "inside"), 1e3, 1e-3);
    EXPECT_NEAR(result.value(at_8, "outside") / result.value(at_6, "outside"), 100, 1e-6);
    EXPECT_TRUE(std::isnan(result.value(at_6, "composed")));
    EXPECT_TRUE(std::isnan(result.value(at_8, "composed")));
    EXPECT_NEAR(result.value("variance of a normalised row of 8", "inside"), 1, 1e-3);
    EXPECT_NEAR(result.value("variance of a normalised row of 8", "outside"), 7.0 / 8, 1e-3);
}

TEST(LabNumerics, AChainOnTensorCoresDriftsTowardZero) {
    const Result result = run_experiment("tensor-core-sums");
    const std::string shift = "mean shift toward zero, k = ", square = "root mean square error, k = ",
                      other = "share with other bits than f32 to nearest, k = ";
    for (const char* chain : {"one chain, Hopper", "one chain, Ampere"}) {
        EXPECT_GT(result.value(shift + "512", chain), 5 * result.value(shift + "16", chain));
        EXPECT_GT(result.value(shift + "512", chain), 2 * result.value(shift + "512", "pieces of 128"));
        EXPECT_GT(result.value(square + "512", chain), 2 * result.value(square + "512", "f32 to nearest"));
        EXPECT_GT(result.value(other + "512", chain), 0.9);
        EXPECT_LT(result.value(other + "16", chain), result.value(other + "128", chain));
    }
    EXPECT_NEAR(result.value(shift + "512", "f32 to nearest"), 0, 0.2);
    EXPECT_EQ(result.value(other + "512", "f32 to nearest"), 0);
    EXPECT_EQ(result.value(shift + "16", "pieces of 128"), result.value(shift + "16", "one chain, Hopper"));
}

TEST(LabNumerics, DropoutThatIsDrawnAnewHasNoGradient) {
    const Result result = run_experiment("dropout-redrawn");
    const std::string loss = "loss after 300 steps, dropout 0.3";
    for (const char* dropout : {"0.1", "0.3"}) {
        const std::string error = std::string("relative error of the gradient, dropout ") + dropout;
        EXPECT_EQ(result.value(error, "same mask"), 0);
        EXPECT_GT(result.value(error, "drawn anew"), 1);
    }
    EXPECT_LT(result.value(loss, "same mask"), 1);
    EXPECT_GT(result.value(loss, "drawn anew"), 50);
}

TEST(LabNumerics, DeepStacksTrainWithTheNormInFrontAlone) {
    const Result result = run_experiment("norm-placement");
    const std::string loss = "loss, mean of the last 10 of 150 steps", last = "gradient norm of the last layer, at the start",
                      likeness = "mean cosine between two tokens behind the last layer, at the start";
    EXPECT_LT(result.value(loss, "pre"), 0.5);
    for (const char* guessing : {"post", "no residual"}) EXPECT_NEAR(result.value(loss, guessing), std::log(20), 0.1);
    EXPECT_LT(result.value(loss, "post, warm-up"), result.value(loss, "post") - 0.04);
    EXPECT_GT(result.value(loss, "no norm"), 50);
    EXPECT_GT(result.value(last, "post"), 1.3 * result.value(last, "pre"));
    EXPECT_GT(result.value("gradient norm of the first layer, at the start", "no norm"), 1e3);
    EXPECT_LT(result.value(likeness, "pre"), 0.9);
    for (const char* alike : {"post", "no residual"}) EXPECT_GT(result.value(likeness, alike), 0.98);
}

TEST(LabNumerics, EmbeddingsWithoutTheirFactorDrownInPositions) {
    const Result result = run_experiment("embedding-scale");
    const auto target = [&](const std::string& start, const char* variant) {
        return result.value("share of position, target, " + start, variant);
    };
    EXPECT_NEAR(target("N(0, 1)", "neither"), 0.414, 0.01);
    EXPECT_NEAR(target("N(0, 1/d)", "both sides"), 0.414, 0.01);
    EXPECT_NEAR(target("Xavier, 100 words", "neither"), 0.92, 0.01);
    EXPECT_NEAR(target("Xavier, 1024 words", "neither"), 0.95, 0.01);
    EXPECT_NEAR(target("Xavier, 10000 words", "neither"), 0.98, 0.005);
    EXPECT_NEAR(target("Xavier, 1024 words", "both sides"), 0.46, 0.01);
    EXPECT_EQ(target("Xavier, 1024 words", "source only"), target("Xavier, 1024 words", "neither"));
    EXPECT_EQ(target("Xavier, 1024 words", "target only"), target("Xavier, 1024 words", "both sides"));
    EXPECT_NEAR(result.value("share of position, source, Xavier, 1024 words", "source only"), 0.46, 0.01);
    EXPECT_LT(target("N(0, 1)", "both sides"), 0.04);
    const std::string loss = "loss of copying after 200 steps";
    for (const char* guessing : {"neither", "target only"}) EXPECT_NEAR(result.value(loss, guessing), std::log(64), 0.1);
    EXPECT_LT(result.value(loss, "both sides"), 2.5);
    EXPECT_LT(result.value(loss, "source only"), 0.5);
}

TEST(LabNumerics, ACotangentOfOnesFindsNoMistakeInSoftmax) {
    const Result result = run_experiment("cotangent-of-ones");
    EXPECT_EQ(result.value("mistakes caught, of 3", "random"), 3);
    EXPECT_EQ(result.value("mistakes caught, of 3", "ones"), 0);
    EXPECT_LT(result.value("error found in the correct backward", "random"), 1e-7);
    for (const char* mistake : {"x 1000", "x 0", "x -1"}) {
        const std::string what = std::string("error found in a backward ") + mistake;
        EXPECT_GT(result.value(what, "random"), 0.9);
        EXPECT_LT(result.value(what, "ones"), 1e-7);
    }
}

TEST(LabNumerics, NanPassesAComparisonThatAsksForTooMuch) {
    const Result result = run_experiment("error-above-tolerance");
    const std::vector<double> refused = {3, 0, 0};
    for (std::size_t i = 0; i < 3; ++i) {
        const std::string variant = result.variants.at(i);
        EXPECT_EQ(result.value("NaN gradients there are", variant), 3);
        EXPECT_EQ(result.value("NaN gradients refused", variant), refused[i]);
        EXPECT_EQ(result.value("gradients wrong by a percent refused, of 1", variant), 1);
        EXPECT_EQ(result.value("right gradients refused, of 1", variant), 0);
    }
}

}  // namespace
}  // namespace heddle::lab
