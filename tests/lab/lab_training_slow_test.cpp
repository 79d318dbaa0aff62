// The findings of the lab's experiments on training, scoring and decoding.
#include <cmath>

#include "tests/lab/lab_support.h"

namespace heddle::lab {
namespace {

TEST(LabTraining, TheLeastSmoothedLossIsTheEntropyOfItsTargets) {
    const Result result = run_experiment("label-smoothing");
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
    const Result result = run_experiment("length-penalty");
    for (const char* variant : {"L^1", "((5+L)/6)^1"}) {
        EXPECT_NEAR(result.value("length ratio", variant), 1, 0.05);
        EXPECT_GT(result.value("BLEU", variant), 94);
    }
    EXPECT_LT(result.value("length ratio", "none"), 0.85);
    EXPECT_LT(result.value("BLEU", "none"), 80);
    EXPECT_GT(result.value("empty translations, %", "none"), 4);
}

TEST(LabTraining, OnlyAWholeStateGivesTheRunThatNeverStopped) {
    const Result result = run_experiment("partial-resume");
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
    const Result result = run_experiment("batch-bleu");
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

TEST(LabTraining, ATableOfTheOtherLanguageFailsAtRareWordsOrHoldsNone) {
    const Result result = run_experiment("target-vocabulary");
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(result.findings[i].values[0], 0) << result.findings[i].what;
    EXPECT_NEAR(result.value("source smaller: sentences that fail, %", "source's size"), 23, 5);
    EXPECT_GT(result.value("source smaller: batches that fail, %", "source's size"), 90);
    EXPECT_EQ(result.value("source larger: rows that are no word", "source's size"), 200);
    EXPECT_NEAR(result.value("source larger: their probability at first, %", "source's size"), 100.0 * 200 / 1400, 4);
    const char* const loss = "source larger: loss of the first batch";
    EXPECT_NEAR(result.value(loss, "source's size") - result.value(loss, "target's size"), std::log(1400.0 / 1200), 0.07);
}

TEST(LabTraining, AWholePositionTableFitsTheLongestSentenceAndMultipliesASingleToken) {
    const Result result = run_experiment("uncut-positions");
    EXPECT_EQ(result.value("rows that a sentence of 1 token becomes", "cut"), 1);
    EXPECT_EQ(result.value("rows that a sentence of 1 token becomes", "whole"), 16);
    EXPECT_EQ(result.value("lengths of 1 to 16 that compute", "cut"), 16);
    EXPECT_EQ(result.value("lengths of 1 to 16 that compute", "whole"), 2);
    EXPECT_EQ(result.value("lengths that keep their shape", "whole"), 1);
}

TEST(LabTraining, AWordThatIsTakenForPaddingIsNotLearnedOrNotRead) {
    const Result result = run_experiment("padding-index");
    const char* const zero = "accuracy on word 0, %";
    EXPECT_GT(result.value(zero, "the vocabulary's"), 97);
    for (const char* variant : {"0 in the loss", "0 in both"}) {
        EXPECT_LT(result.value(zero, variant), 2) << variant;
        EXPECT_GT(result.value("accuracy as its own padding rule counts it, %", variant), 94) << variant;
        EXPECT_NEAR(result.value("targets that count in training, %", variant), 87.5, 1) << variant;
        EXPECT_GT(result.value("loss over all targets", variant), 20 * result.value("loss over all targets", "the vocabulary's"));
    }
    const char* const weight = "largest attention weight on word 0";
    EXPECT_EQ(result.value(weight, "0 in the mask"), 0);
    EXPECT_GT(result.value("loss over all targets", "0 in the mask"),
              20 * result.value("loss over all targets", "the vocabulary's"));
    EXPECT_GT(result.value(weight, "the vocabulary's"), 0.8);
}

TEST(LabTraining, DecodingWithoutCacheAndStopGivesTheSameForManyTimesTheWork) {
    const Result result = run_experiment("uncached-decoding");
    const char* const work = "million multiply-adds of the decoder";
    const double least = result.value(work, "cache and stop");
    EXPECT_GT(result.value(work, "no cache"), 3 * least);
    EXPECT_GT(result.value(work, "no stop"), 3 * least);
    EXPECT_GT(result.value(work, "neither"), 60 * least);
    EXPECT_EQ(result.value("rows of the decoder", "neither"), 32 * 48 * 49 / 2);
    EXPECT_EQ(result.value("tokens that are thrown away", "cache and stop"), 0);
    EXPECT_GT(result.value("tokens that are thrown away", "no stop"), 32 * 24);
    EXPECT_GT(result.value("milliseconds", "neither"), 5 * result.value("milliseconds", "cache and stop"));
    for (const std::string& variant : result.variants)
        EXPECT_EQ(result.value("translations that differ from the first's", variant), 0) << variant;
}

TEST(LabTraining, DropoutHelpsWhereItIsAppliedAndHarmsWhereItIsEvaluated) {
    const Result result = run_experiment("dropout-modes");
    const char* const unseen = "loss on unseen points";
    const char* const seen = "loss on its own points";
    const double right = result.value(unseen, "in training");
    EXPECT_GT(result.value(unseen, "never applied"), 1.3 * right);
    EXPECT_GT(result.value(unseen, "never off"), 1.03 * right);
    EXPECT_LT(result.value(seen, "never applied"), 0.3 * result.value(seen, "in training"));
    EXPECT_GT(result.value(seen, "never off"), 1.1 * result.value(seen, "in training"));
    const char* const differ = "answers that differ in two evaluations, %";
    const char* const change = "largest change of a logit between them";
    for (const char* variant : {"in training", "never applied"}) {
        EXPECT_EQ(result.value(differ, variant), 0);
        EXPECT_EQ(result.value(change, variant), 0);
    }
    EXPECT_GT(result.value(differ, "never off"), 8);
    EXPECT_GT(result.value(change, "never off"), 1);
}

}  // namespace
}  // namespace heddle::lab
