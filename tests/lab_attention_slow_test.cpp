// What the lab's experiments on attention find. Margins hold for seeds 1 to 5; the tests run the first.
#include <cmath>

#include "tests/lab_support.h"

namespace heddle {
namespace {

TEST(LabAttention, SplitHeads) {
    const lab::Result result = run_experiment("split-heads");
    EXPECT_EQ(result.value("change of the past when the last token changes", "transposed"), 0);
    EXPECT_EQ(result.value("change of the past when any later token changes", "transposed"), 0);
    EXPECT_GT(result.value("change of the past when the last token changes", "reshaped"), 0.5);
    const std::string loss = "loss on random tokens, last 10 of 150 steps";
    EXPECT_NEAR(result.value(loss, "transposed"), std::log(10), 0.08);
    EXPECT_LT(result.value(loss, "reshaped"), 1.2);
}

TEST(LabAttention, TinyMask) {
    const lab::Result result = run_experiment("tiny-mask");
    EXPECT_EQ(result.value("weight on the future, row 0", "masked"), 0);
    EXPECT_NEAR(result.value("weight on the future, row 0", "multiplied"), 15.0 / 16, 0.02);
    EXPECT_EQ(result.value("weight on the future, mean of the rows but the last", "masked"), 0);
    EXPECT_NEAR(result.value("weight on the future, mean of the rows but the last", "multiplied"), 0.43, 0.02);
}

// Those of the paper's model, counted by hand.
TEST(LabAttention, RepeatedModules) {
    const lab::Result result = run_experiment("repeated-modules");
    for (const std::string& variant : result.variants) EXPECT_EQ(result.value("parameters meant", variant), 45'188'096);
    EXPECT_EQ(result.value("parameters used", "registered"), 45'188'096);
    EXPECT_EQ(result.value("parameters used", "repeated"), 5'975'424);
    EXPECT_EQ(result.value("parameters used", "plain list"), 45'188'096);
    EXPECT_EQ(result.value("parameters seen by the optimizer", "registered"), 45'188'096);
    EXPECT_EQ(result.value("parameters seen by the optimizer", "repeated"), 5'975'424);
    EXPECT_EQ(result.value("parameters seen by the optimizer", "plain list"), 1'049'600);
    const std::string loss = "loss of a small one after 200 steps";
    EXPECT_LT(result.value(loss, "registered"), 1.3);
    EXPECT_LT(result.value(loss, "repeated"), 1.8)
        << "a small task does not miss the weights: some seeds learn faster with one layer";
    EXPECT_GT(result.value(loss, "plain list"), 1.8);
    EXPECT_LT(result.value(loss, "plain list"), std::log(11)) << "even this one learns something";
}

}  // namespace
}  // namespace heddle
