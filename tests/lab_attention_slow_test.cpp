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

}  // namespace
}  // namespace heddle
