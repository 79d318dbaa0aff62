// The findings of the lab's experiments on attention. The margins hold for seeds 1 to 5; the tests run seed 1.
#include <cmath>

#include "tests/lab/lab_support.h"

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

// The numbers of the paper's model, counted by hand.
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

// The article measured, in one draw: 4.15e-8 in Q and 6.69e-8 in K unscaled, 1.87e-5 and 3.74e-5 scaled.
TEST(LabAttention, Scaling) {
    const lab::Result result = run_experiment("scaling");
    const auto value = [&](const std::string& what, const std::string& variant) { return result.value(what, variant); };
    EXPECT_NEAR(std::log2(value("largest gradient in Q, median of 200 draws", "scaled") / 1.87e-5), 0, 1);
    EXPECT_NEAR(std::log2(value("largest gradient in K, median of 200 draws", "scaled") / 3.74e-5), 0, 1);
    EXPECT_LT(value("largest gradient in Q, 5 %", "unscaled"), 4.15e-8);
    EXPECT_GT(value("largest gradient in Q, 95 %", "unscaled"), 4.15e-8);
    EXPECT_LT(value("largest gradient in K, 5 %", "unscaled"), 6.69e-8);
    EXPECT_GT(value("largest gradient in K, 95 %", "unscaled"), 6.69e-8);
    // 14 to 24 over the seeds: the median of values that span six powers of ten
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

TEST(LabAttention, PairedLayers) {
    const lab::Result result = run_experiment("paired-layers");
    const std::string layers = "decoder layers that change with the encoder's last layer, of 6";
    EXPECT_EQ(result.value(layers, "last layer"), 6);
    EXPECT_EQ(result.value(layers, "layer i"), 1);
    const auto change = [&](int layer, const std::string& variant) {
        return result.value("relative change of decoder layer " + std::to_string(layer), variant);
    };
    for (int layer = 1; layer <= 6; ++layer) EXPECT_GT(change(layer, "last layer"), 0.2) << layer;
    for (int layer = 1; layer <= 5; ++layer) EXPECT_EQ(change(layer, "layer i"), 0) << layer << ": the same bits";
    EXPECT_GT(change(6, "layer i"), 0.2);
}

TEST(LabAttention, MaskedRow) {
    const lab::Result result = run_experiment("masked-row");
    const std::string weight = "weight of a masked row on masked places",
                      padding = "gradient in padding, the loss counts the row";
    EXPECT_EQ(result.value(weight, "masked"), 0);
    EXPECT_EQ(result.value(padding, "masked"), 0);
    for (const char* fill : {"-1e9", "-2^32 + 1"}) {
        EXPECT_NEAR(result.value(weight, fill), 1, 1e-6) << fill;
        EXPECT_GT(result.value(padding, fill), 0.01) << fill;
    }
    EXPECT_TRUE(std::isnan(result.value(weight, "-inf")));
    EXPECT_TRUE(std::isnan(result.value(padding, "-inf")));
    for (const char* loss : {"ignores", "counts"}) {
        const std::string nans = std::string("NaN among the gradients, the loss ") + loss + " the row";
        for (const char* fill : {"masked", "-1e9", "-2^32 + 1"}) EXPECT_EQ(result.value(nans, fill), 0) << fill;
        // all 1,056 elements of the value projection and 320 weights of the output, of 3,498
        EXPECT_NEAR(result.value(nans, "-inf"), 0.395, 0.003);
    }
}

TEST(LabAttention, Projections) {
    const lab::Result result = run_experiment("projections");
    EXPECT_LT(result.value("error after 400 steps", "projected"), 0.01);
    EXPECT_GT(result.value("error after 400 steps", "ReLU on q, k, v"), 0.15);
    EXPECT_NEAR(result.value("error after 400 steps", "no output projection"), 1, 0.1) << "it knows one neighbour";
    EXPECT_NEAR(result.value("share of scores below zero", "projected"), 0.55, 0.2);
    EXPECT_EQ(result.value("share of scores below zero", "ReLU on q, k, v"), 0);
}

TEST(LabAttention, HeadSlices) {
    const lab::Result result = run_experiment("head-slices");
    EXPECT_EQ(result.value("columns of the embedding that one head reads", "projections"), 512);
    EXPECT_EQ(result.value("columns of the embedding that one head reads", "slices"), 42);
    EXPECT_EQ(result.value("columns that no head reads", "projections"), 0);
    EXPECT_EQ(result.value("columns that no head reads", "slices"), 8);
    EXPECT_EQ(result.value("longest sentence of up to 48 that works", "projections"), 48);
    EXPECT_EQ(result.value("longest sentence of up to 48 that works", "slices"), 42);
    EXPECT_LT(result.value("loss on a word in the last 8 columns, 40 steps", "projections"), 0.6);
    EXPECT_NEAR(result.value("loss on a word in the last 8 columns, 40 steps", "slices"), std::log(8), 0.1);
}

TEST(LabAttention, BorrowedMaps) {
    const lab::Result result = run_experiment("borrowed-maps");
    EXPECT_GT(result.value("change of the map when the source changes", "cross"), 0.2);
    EXPECT_EQ(result.value("change of the map when the source changes", "borrowed"), 0);
    EXPECT_EQ(result.value("keys of the map for a source of 5 words", "cross"), 5);
    EXPECT_EQ(result.value("keys of the map for a source of 5 words", "borrowed"), 8);
    EXPECT_GT(result.value("weight above the diagonal", "cross"), 0.3);
    EXPECT_EQ(result.value("weight above the diagonal", "borrowed"), 0);
    EXPECT_GT(result.value("words that look at their source word", "cross"), 0.9);
    EXPECT_LT(result.value("words that look at their source word", "borrowed"), 0.1);
    for (const std::string& variant : result.variants) {  // measurements that cannot tell the variants apart
        EXPECT_LT(result.value("largest error of a row's sum", variant), 1e-5);
        EXPECT_EQ(result.value("keys of the map for a source of 8 words", variant), 8);
    }
}

TEST(LabAttention, WeightedPositions) {
    const lab::Result result = run_experiment("weighted-positions");
    for (const char* kind : {"sinusoidal", "learned"}) {
        const std::string loss = std::string("loss after 200 steps, ") + kind + " positions";
        const std::string share = std::string("share of the position at first, ") + kind;
        for (const char* variant : {"plain sum", "word .5", "word .1"})
            EXPECT_LT(result.value(loss, variant), 0.05) << kind << variant;
        EXPECT_NEAR(result.value(loss, "word .9"), 1.8, 0.1) << kind;
        EXPECT_LT(result.value(share, "word .9"), 0.01) << kind;
        EXPECT_NEAR(result.value(share, "word .5"), result.value(share, "plain sum"), 1e-6) << kind;
        EXPECT_GT(result.value(share, "word .1"), 0.6) << kind;
    }
    EXPECT_NEAR(result.value("share of the position at first, sinusoidal", "plain sum"), 1.0 / 3, 0.05) << "1/2 beside 1";
}

}  // namespace
}  // namespace heddle
