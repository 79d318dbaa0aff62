// The numbers of every experiment, in one table. The margins hold for seeds 1 to 5; the tests run seed 1.
#include <algorithm>
#include <cmath>

#include "tests/lab/lab_support.h"

namespace heddle::lab {
namespace {

// For each variant, in the result's order, its value: "3", "nan", "inf", "<3", ">3", "3~0.1" (within 0.1) or, relative to the
// first variant's, "3x~0.1", "<3x", ">3x"; "" is any.
struct Row {
    const char* experiment;
    const char* finding;
    std::vector<std::string> values;
};

const Row rows[] = {
    {"split-heads", "change of the past when the last token changes", {"0", ">0.5"}},
    {"split-heads", "change of the past when any later token changes", {"0", ">0.5"}},
    {"split-heads", "loss on random tokens, last 10 of 150 steps", {"2.3026~0.08", "<1.2"}},  // ln 10
    {"tiny-mask", "weight on the future, row 0", {"0", "0.9375~0.02"}},                       // 15 / 16
    {"tiny-mask", "weight on the future, mean of the rows but the last", {"0", "0.43~0.02"}},
    {"no-padding-mask", "change of the output beside a sentence of 40 words", {"0", ">0.4"}},
    {"no-padding-mask", "right answers without a longer neighbour", {"", ">0.98"}},
    {"no-padding-mask", "right answers beside a sentence of 40 words", {">0.98", "<0.8"}},
    {"no-padding-mask", "weight on padding, first layer", {"0", ">0.5"}},
    {"masked-row", "weight of a masked row on masked places", {"0", "1~1e-6", "1~1e-6", "nan"}},
    {"masked-row", "gradient in padding, the loss counts the row", {"0", ">0.01", ">0.01", "nan"}},
    // all 1,056 elements of the value projection and 320 weights of the output, of 3,498
    {"masked-row", "NaN among the gradients, the loss ignores the row", {"0", "0", "0", "0.395~0.003"}},
    {"masked-row", "NaN among the gradients, the loss counts the row", {"0", "0", "0", "0.395~0.003"}},
    // The article measured, in one draw: 4.15e-8 unscaled, 1.87e-5 scaled.
    {"scaling", "largest gradient in Q, median of 200 draws", {"2.3e-5~1.4e-5", "", ""}},
    {"scaling", "largest gradient in Q, 5 %", {"", "<4.15e-8", ""}},
    {"scaling", "largest gradient in Q, 95 %", {"", ">4.15e-8", ""}},
    // sum p^2 = e^variance / n
    {"scaling", "1 - sum p^2 at d_k 512", {"0.99735~0.001", "0.144~0.08", "0.87~0.08"}},
    {"scaling", "variance of the scores at d_k 512", {"1~0.1", "512~50", "8~0.8"}},
    {"head-slices", "columns of the embedding that one head reads", {"512", "42"}},
    {"head-slices", "columns that no head reads", {"0", "8"}},
    {"head-slices", "loss on a word in the last 8 columns, 40 steps", {"<0.6", "2.0794~0.1"}},  // ln 8
    {"paired-layers", "decoder layers that change with the encoder's last layer, of 6", {"6", "1"}},
    {"paired-layers", "relative change of decoder layer 1", {">0.2", "0"}},
    {"paired-layers", "relative change of decoder layer 5", {">0.2", "0"}},
    {"paired-layers", "relative change of decoder layer 6", {">0.2", ">0.2"}},
    // The numbers of the paper's model, counted by hand.
    {"repeated-modules", "parameters meant", {"45188096", "45188096", "45188096"}},
    {"repeated-modules", "parameters used", {"45188096", "8406016", "45188096"}},
    {"repeated-modules", "parameters seen by the optimizer", {"45188096", "8406016", "1049600"}},
    // Some seeds learn the small task faster with one layer; even the last variant learns something: ln 11 = 2.398.
    {"repeated-modules", "loss of a small one after 200 steps", {"<1.3", "<1.8", "2.098~0.299"}},
    {"softmax-twice", "lowest loss there is", {"0", "5.933~5e-4"}},
    {"softmax-twice", "loss after 200 steps", {"<0.01", ">5.9328"}},
    {"softmax-twice", "gradient of the first target's logit, at the start", {">0.99", "<5e-3"}},
    {"log-of-softmax", "gradient at a gap of 90", {"-1", "nan"}},
    {"log-of-softmax", "loss at a gap of 90", {"", "90~1e-3"}},
    {"log-of-softmax", "loss at a gap of 104", {"104", "inf"}},
    {"log-of-softmax", "smallest gap with a NaN gradient", {"inf", "89"}},
    {"log-of-softmax", "smallest gap with an infinite loss", {"", "104"}},
    {"unbiased-norm", "largest gradient of a constant row, eps 1e-5", {"<2e3", "", ""}},
    {"unbiased-norm", "largest gradient of a constant row, eps 1e-6", {"", "1000x~1e-3", "nan"}},
    {"unbiased-norm", "largest gradient of a constant row, eps 1e-8", {"", "10000x~1e-2", "nan"}},
    {"unbiased-norm", "variance of a normalised row of 8", {"1~1e-3", "0.875~1e-3", ""}},
    {"norm-placement", "loss, mean of the last 10 of 150 steps", {"<0.5", "2.9957~0.1", "<2.95", ">50", "2.9957~0.1"}},  // ln 20
    {"norm-placement", "gradient norm of the last layer, at the start", {"", ">1.3x", "", "", ""}},
    {"norm-placement", "gradient norm of the first layer, at the start", {"", "", "", ">1e3", ""}},
    {"norm-placement", "mean cosine between two tokens behind the last layer, at the start", {"<0.9", ">0.98", "", "", ">0.98"}},
    {"dropout-modes", "loss on unseen points", {"", ">1.3x", ">1.03x"}},
    {"dropout-modes", "loss on its own points", {"", "<0.3x", ">1.1x"}},
    {"dropout-modes", "answers that differ in two evaluations, %", {"0", "0", ">8"}},
    {"dropout-modes", "largest change of a logit between them", {"0", "0", ">1"}},
    {"partial-resume", "largest change of the loss", {"0", ">0.2", ">0.2", ">0.2"}},
    {"partial-resume", "largest change of a weight", {"0", ">0.02", ">0.02", ">0.02"}},
    {"partial-resume", "pairs that the epoch shows twice, %", {"0", "", "50~12", ""}},
    {"partial-resume", "mean loss over 200 pairs in the next 60 updates", {"", ">1.2x", "", ">1.4x"}},
    {"cut-pairs", "loss after 1000 steps", {"<0.03", ">1.5x"}},
    {"cut-pairs", "target words whose source word was cut off, %", {"0", "3.3~1"}},
    {"cut-pairs", "unseen sentences of up to 10 words translated exactly, %", {">70", ">1.02x"}},
    {"cut-pairs", "longer sentences translated exactly, %", {"<2", "<2"}},
    {"cut-pairs", "rows of 32 of the position table that never moved", {"21", "21"}},
    {"lines-apart", "a line of text more: wrong pairs, mean of 100 places, %", {"0", "50~10"}},
    {"lines-apart", "a line of text more: files refused, of 100", {"100", "0"}},
    {"lines-apart", "a sentence that begins with <3: wrong pairs, mean of 100 places, %", {"0", "50~10"}},
    {"lines-apart", "a sentence that begins with <3: files refused, of 100", {"0", "0"}},
    {"lines-apart", "a metadata line more: wrong pairs, mean of 100 places, %", {"0", "0"}},
    {"lines-apart", "a metadata line more: files refused, of 100", {"100", "0"}},
    {"batch-bleu", "segments that count", {"1305", "1280", "1260", "", ""}},
    {"batch-bleu", "above the true one", {"0", "", "", "<-0.5", "<-0.5"}},
    {"tensor-core-sums", "mean shift toward zero, k = 512", {"", ">2x", ">2x", "0~0.2"}},
    {"tensor-core-sums", "mean shift toward zero, k = 16", {"", "1x", "", ""}},
    {"tensor-core-sums", "root mean square error, k = 512", {"<4", ">5", ">5", "<4"}},
    {"tensor-core-sums", "share with other bits than f32 to nearest, k = 512", {"", ">0.9", ">0.9", "0"}},
};

bool fits(const std::string& wanted, double value, double first) {
    const char order = wanted[0];
    const std::size_t within = wanted.find('~'), times = wanted.find('x');
    const double number = std::stod(wanted.substr(order == '<' || order == '>' ? 1 : 0));  // "nan" and "inf", too
    if (std::isnan(number)) return std::isnan(value);
    if (times != std::string::npos) value /= first;
    if (order == '<') return value < number;
    if (order == '>') return value > number;
    return value == number ||
           std::abs(value - number) <= (within == std::string::npos ? 0 : std::stod(wanted.substr(within + 1)));
}

class LabFindings : public testing::TestWithParam<Experiment> {};

TEST_P(LabFindings, AreThoseOfTheTable) {
    const Result result = run_experiment(std::string(GetParam().name));
    int checked = 0;
    for (const Row& row : rows) {
        if (row.experiment != GetParam().name) continue;
        const auto found = std::ranges::find(result.findings, row.finding, &Finding::what);
        ASSERT_NE(found, result.findings.end()) << row.finding;
        ASSERT_EQ(row.values.size(), found->values.size()) << row.finding;
        for (std::size_t i = 0; i < row.values.size(); ++i, ++checked) {
            const double value = found->values[i];
            EXPECT_TRUE(row.values[i].empty() || fits(row.values[i], value, found->values[0]))
                << row.finding << ", " << result.variants[i] << ": " << value << " instead of " << row.values[i];
        }
    }
    EXPECT_GT(checked, 0) << "the table has no row of it";
}

// A row whose name is mistyped would check nothing.
TEST(LabFindingsTable, EveryRowIsOfAnExperiment) {
    for (const Row& row : rows)
        EXPECT_EQ(std::ranges::count(experiments(), row.experiment, &Experiment::name), 1)
            << row.experiment << ": " << row.finding;
}

INSTANTIATE_TEST_SUITE_P(Experiments, LabFindings, testing::ValuesIn(experiments()), [](const auto& one) {
    std::string name(one.param.name);
    std::ranges::replace(name, '-', '_');
    return name;
});

}  // namespace
}  // namespace heddle::lab
