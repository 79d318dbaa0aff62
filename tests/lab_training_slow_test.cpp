// What the lab's experiments on training, scoring and decoding find.
#include <gtest/gtest.h>

#include <cmath>

#include "apps/lab/experiment.h"
#include "core/error.h"

namespace heddle::lab {
namespace {

Result run(std::string_view name, std::uint64_t seed = 1) {
    const Experiment* const experiment = find_experiment(name);
    if (experiment == nullptr) throw Error("no experiment " + std::string(name));
    Result result = experiment->run({.seed = seed});
    EXPECT_GE(result.figures.size(), 2u) << name;
    for (const picture::Figure& figure : result.figures) EXPECT_NE(figure.svg.find("<svg"), std::string::npos) << name;
    return result;
}

TEST(LabTraining, TheLeastSmoothedLossIsTheEntropyOfItsTargets) {
    const Result result = run("label-smoothing");
    for (const char* variant : {"over V", "over V-1", "over V-2"})
        EXPECT_NEAR(result.value("least loss, by descent", variant), result.value("least loss, by formula", variant), 1e-4);
    EXPECT_NEAR(result.value("least loss, by formula", "over V"), 0.5140, 1e-3);
    EXPECT_NEAR(result.value("least loss, by formula", "over V-1"), 0.5553, 1e-3);
    EXPECT_NEAR(result.value("least loss, by formula", "over V-2"), 0.5448, 1e-3);
    EXPECT_NEAR(result.value("mass on padding", "over V"), 0.1 / 11, 1e-3);
    EXPECT_NEAR(result.value("mass on padding", "over V-1"), 0.1 / 10, 1e-3);
    EXPECT_LT(result.value("mass on padding", "over V-2"), 1e-3);
    EXPECT_GT(result.value("drawn sentences of 20 tokens with padding, %", "over V"), 10);
}

TEST(LabTraining, WithoutALengthPenaltyTheShortestTranslationWins) {
    const Result result = run("length-penalty");
    for (const char* variant : {"L^1", "((5+L)/6)^1"}) {
        EXPECT_NEAR(result.value("length ratio", variant), 1, 0.05);
        EXPECT_GT(result.value("BLEU", variant), 94);
    }
    EXPECT_LT(result.value("length ratio", "none"), 0.85);
    EXPECT_LT(result.value("BLEU", "none"), 80);
    EXPECT_GT(result.value("empty translations, %", "none"), 4);
}

TEST(LabTraining, OnlyAWholeStateGivesTheRunThatNeverStopped) {
    const Result result = run("partial-resume");
    const char* const loss = "mean loss over 200 pairs in the next 60 updates";
    for (const char* what : {"largest change of the loss", "largest change of a weight", "pairs that the epoch shows twice, %"})
        EXPECT_EQ(result.value(what, "everything"), 0) << what;
    for (const char* variant : {"no optimizer", "no place", "older optimizer"}) {
        EXPECT_GT(result.value("largest change of the loss", variant), 0.2) << variant;
        EXPECT_GT(result.value("largest change of a weight", variant), 0.02) << variant;
    }
    EXPECT_GT(result.value(loss, "no optimizer"), 1.2 * result.value(loss, "everything"));
    EXPECT_GT(result.value(loss, "older optimizer"), 1.4 * result.value(loss, "everything"));
    EXPECT_NEAR(result.value("pairs that the epoch shows twice, %", "no place"), 50, 12);
}

TEST(LabTraining, ATestSetThatIsScoredInPartsHasAnotherBleu) {
    const Result result = run("batch-bleu");
    const char* const counted = "segments that count";
    EXPECT_EQ(result.value(counted, "all segments"), 1305);
    EXPECT_EQ(result.value(counted, "full batches"), 1280);
    EXPECT_EQ(result.value(counted, "no short ones"), 1260);
    const char* const largest = "largest error of 20 test sets";
    EXPECT_EQ(result.value(largest, "all segments"), 0);
    EXPECT_GT(result.value(largest, "full batches"), 0.2);
    EXPECT_GT(result.value(largest, "no short ones"), 0.03);
    EXPECT_LT(result.value(largest, "no short ones"), 0.15);
    EXPECT_GT(result.value(largest, "mean of cumulative"), 2);
    EXPECT_GT(result.value(largest, "mean of batches"), 0.7);
    EXPECT_NE(result.value("BLEU", "full batches"), result.value("BLEU", "all segments"));
}

}  // namespace
}  // namespace heddle::lab
