// The causal mask as a factor: the logits of future positions are multiplied by a tiny negative number, "almost minus infinity".
//
//     wrong    softmax(s * m), m = 1 for the past, -1e-9 for the future: the logit becomes 0, and e^0 = 1
//     right    softmax over the allowed positions

#include "apps/lab/kit.h"
#include "apps/picture/chart.h"

namespace heddle::lab::tiny_mask {
namespace {

constexpr std::int64_t heads = 65;  // results are medians over the heads
constexpr std::int64_t length = 16, width = 64;

// The share of a row's weight that lies on later positions, for one head. weights [heads, length, length]
double future(const std::vector<double>& weights, std::int64_t head, std::int64_t row) {
    double sum = 0;
    for (std::int64_t place = row + 1; place < length; ++place)
        sum += weights[static_cast<std::size_t>((head * length + row) * length + place)];
    return sum;
}

// For each row, the median over the heads.
std::vector<double> future_by_row(const std::vector<double>& weights) {
    std::vector<double> rows;
    for (std::int64_t row = 0; row < length; ++row) {
        std::vector<double> shares;
        for (std::int64_t head = 0; head < heads; ++head) shares.push_back(future(weights, head, row));
        rows.push_back(median(shares));
    }
    return rows;
}

// The last row has no future.
double future_of_the_rows(const std::vector<double>& weights) {
    std::vector<double> shares;
    for (std::int64_t head = 0; head < heads; ++head) {
        double sum = 0;
        for (std::int64_t row = 0; row + 1 < length; ++row) sum += future(weights, head, row);
        shares.push_back(sum / (length - 1));
    }
    return median(shares);
}

picture::Figure map(const std::string& title, const std::vector<double>& weights, const std::string& caption) {
    return {svg(picture::HeatMap{.title = title,
                                 .rows = length,
                                 .cols = length,
                                 .values = {weights.begin(), weights.begin() + length * length},
                                 .row_title = "query",
                                 .col_title = "key",
                                 .from = 0,
                                 .to = 2.0 / length}),  // on a scale up to 1 a sixteenth would be invisible
            caption};
}

Result measure(const Options& options) {
    const Variable query(normal({heads, length, width}, 1, key(options, "query")));
    const Variable keys(normal({heads, length, width}, 1, key(options, "key")));
    const Variable scores = ops::scale(ops::matmul(query, keys, false, true), 1 / 8.0);  // sqrt(64) = 8

    Tensor factor = Tensor::full({length, length}, 1, DType::f32);
    for (std::int64_t row = 0; row < length; ++row)
        for (std::int64_t place = row + 1; place < length; ++place) factor.mutable_data<float>()[row * length + place] = -1e-9f;

    const std::vector<double> right = ops::softmax(scores, {}, {.causal = true}).value().to_vector();
    const std::vector<double> wrong = ops::softmax(ops::mul(scores, Variable(factor))).value().to_vector();
    const std::vector<double> right_rows = future_by_row(right), wrong_rows = future_by_row(wrong);
    const picture::LineChart chart{.title = "weight on the future",
                                   .x = {.label = "query"},
                                   .y = {.label = "share of the row", .from = 0, .to = 1},
                                   .series = {curve("masked", right_rows), curve("multiplied", wrong_rows)},
                                   .levels = {{"15/16", 15.0 / 16}}};
    return {.variants = {"masked", "multiplied"},
            .findings = {{"weight on the future, row 0", {right_rows[0], wrong_rows[0]}},
                         {"weight on the future, mean of the rows but the last",
                          {future_of_the_rows(right), future_of_the_rows(wrong)}}},
            .figures = {map("multiplied by -1e-9", wrong,
                            "Every future position has weight, about 1/16 each where the past is short. The brightest colour "
                            "means 2/16 or more."),
                        map("masked", right, "Each row ends at its own position: zero above the diagonal."),
                        {svg(mistakes_first(chart)), "Only the last of the 16 queries has no future."}}};
}

}  // namespace

Experiment experiment() {
    return {.name = "tiny-mask",
            .group = "Attention",
            .title = "logits multiplied by tiny negative numbers instead of masked",
            .caught_by = "Softmax.LengthsAndTheCausalRuleAreTheMaskTheyStandFor",
            .why =
                "A logit times a tiny number is nearly zero, and the exponential of zero is one: every future position gets the "
                "weight of a position with an average logit. The first of 16 tokens puts about 15/16 of its weight on tokens "
                "that it has to predict. A mask leaves these positions out of the sum, so their weight is exactly zero.",
            .wrong = R"(
// factor [T, T]: 1 for the past, -1e-9 for the future
const Variable masked = ops::mul(scores, factor);
const Variable weights = ops::softmax(masked);
)",
            .right = R"(
// the future is left out of the sum
const Variable weights =
    ops::softmax(scores, {}, {.causal = true});
)",
            .run = measure};
}

}  // namespace heddle::lab::tiny_mask
