// The lab's findings on numerics and training. The margins hold for seeds 1 to 5.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "apps/lab/experiment.h"

namespace heddle::lab {
namespace {

Result run(std::string_view name, std::uint64_t seed = 1) {
    const Experiment* experiment = find_experiment(name);
    EXPECT_NE(experiment, nullptr) << name;
    Result result = experiment->run({.seed = seed});
    for (const Finding& finding : result.findings) EXPECT_EQ(finding.values.size(), result.variants.size()) << finding.what;
    EXPECT_FALSE(result.figures.empty());
    for (const picture::Figure& figure : result.figures) EXPECT_TRUE(figure.svg.starts_with("<svg"));
    return result;
}

TEST(LabNumerics, PositionCodesLoseWavesShiftsOrNorms) {
    const Result result = run("position-codes");
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
    const Result result = run("softmax-twice");
    EXPECT_NEAR(result.value("lowest loss there is", "twice"), 5.933, 5e-4);
    EXPECT_EQ(result.value("lowest loss there is", "logits"), 0);
    EXPECT_LT(result.value("loss after 200 steps", "logits"), 0.01);
    EXPECT_GE(result.value("loss after 200 steps", "twice"), 5.9328);
    EXPECT_GT(result.value("gradient of the first target's logit, at the start", "logits"), 0.99);
    EXPECT_LT(result.value("gradient of the first target's logit, at the start", "twice"), 5e-3);
}

TEST(LabNumerics, ReluBeforeTheSoftmaxKillsTargets) {
    const Result result = run("relu-logits");
    EXPECT_NEAR(result.value("targets without a gradient, at the start", "ReLU"), 0.5, 0.2);
    EXPECT_GT(result.value("targets without a gradient, at the end", "ReLU"), 0.2);
    EXPECT_GT(result.value("loss after 300 steps", "ReLU"), 1);
    EXPECT_EQ(result.value("targets without a gradient, at the start", "logits"), 0);
    EXPECT_EQ(result.value("targets without a gradient, at the end", "logits"), 0);
    EXPECT_LT(result.value("loss after 300 steps", "logits"), 1e-3);
}

}  // namespace
}  // namespace heddle::lab
