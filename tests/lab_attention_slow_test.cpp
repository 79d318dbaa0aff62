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

TEST(LabAttention, NoPaddingMask) {
    const lab::Result result = run_experiment("no-padding-mask");
    EXPECT_EQ(result.value("change of the output beside a sentence of 40 words", "masked"), 0) << "the same bits";
    EXPECT_GT(result.value("change of the output beside a sentence of 40 words", "not masked"), 0.4);
    EXPECT_GT(result.value("right answers without a longer neighbour", "not masked"), 0.98);
    EXPECT_GT(result.value("right answers beside a sentence of 40 words", "masked"), 0.98);
    EXPECT_LT(result.value("right answers beside a sentence of 40 words", "not masked"), 0.8);
    EXPECT_EQ(result.value("weight on padding, first layer", "masked"), 0);
    EXPECT_GT(result.value("weight on padding, first layer", "not masked"), 0.5);
}

// What a write-up got from one draw: 4.15e-8 in Q and 6.69e-8 in K unscaled, 1.87e-5 and 3.74e-5 scaled.
TEST(LabAttention, Scaling) {
    const lab::Result result = run_experiment("scaling");
    const auto value = [&](const std::string& what, const std::string& variant) { return result.value(what, variant); };
    EXPECT_NEAR(std::log2(value("largest gradient in Q, median of 200 draws", "scaled") / 1.87e-5), 0, 1);
    EXPECT_NEAR(std::log2(value("largest gradient in K, median of 200 draws", "scaled") / 3.74e-5), 0, 1);
    EXPECT_LT(value("largest gradient in Q, 5 %", "unscaled"), 4.15e-8);
    EXPECT_GT(value("largest gradient in Q, 95 %", "unscaled"), 4.15e-8);
    EXPECT_LT(value("largest gradient in K, 5 %", "unscaled"), 6.69e-8);
    EXPECT_GT(value("largest gradient in K, 95 %", "unscaled"), 6.69e-8);
    // 14 to 24: a median of values that span six powers of ten
    EXPECT_GE(value("gain over unscaled, median", "scaled"), 10);
    const std::string normal = "1 - sum p^2 at d_k 512, normal inputs", variance = "variance of the scores, normal";
    EXPECT_NEAR(value(normal, "scaled"), 1 - std::exp(1) / 1024, 0.001) << "sum p^2 = e^variance / n";
    EXPECT_NEAR(value(normal, "unscaled"), 0.144, 0.08);
    EXPECT_NEAR(value(normal, "wrong width"), 0.87, 0.08);
    EXPECT_GT(value(normal, "additive"), 0.997);
    EXPECT_NEAR(value(variance, "scaled"), 1, 0.1);
    EXPECT_NEAR(value(variance, "unscaled"), 512, 50);
    EXPECT_NEAR(value(variance, "wrong width"), 8, 0.8);
    EXPECT_LT(value("1 - sum p^2 at d_k 512, uniform inputs", "unscaled"), 0.9);
    EXPECT_GT(value("1 - sum p^2 at d_k 512, uniform inputs", "scaled"), 0.998);
}

}  // namespace
}  // namespace heddle
