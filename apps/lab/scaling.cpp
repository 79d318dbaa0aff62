// The scale of dot-product attention.
//
//     right    softmax(q k^T / sqrt(d_k))              scores of variance 1 for every width (Vaswani et al. 2017, section 3.2.1)
//     wrong    softmax(q k^T)                          variance d_k: one weight is nearly 1, and hardly any gradient passes
//     wrong    softmax(q k^T / sqrt(another width))    variance d_k / 64 here
//     beside   softmax(v^T tanh(q + k))                additive attention, bounded without scaling (Bahdanau et al. 2015)
//
// The gradient is that of the weight at [0, 0] with respect to q and k of 512 columns, uniform in [0, 1), with 1,024 keys; it
// affects only row 0 of the queries, so the other rows are left out. The trace of the softmax's Jacobian, 1 - sum p^2, measures
// how much gradient passes: 0 for a single weight of 1, 1 - 1/n for n equal weights.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "apps/lab/experiments.h"
#include "apps/lab/kit.h"

namespace heddle::lab::scaling {
namespace {

enum class Score : std::uint8_t { scaled, unscaled, wrong_width, additive };
constexpr Score all_scores[] = {Score::scaled, Score::unscaled, Score::wrong_width, Score::additive};

constexpr std::int64_t width = 512;
constexpr std::int64_t keys_count = 1024;
constexpr std::int64_t draws = 200;
constexpr double wrong_width = 64;

// query [n, d], keys [m, d], weight [d, 1] of the additive one; result [n, m].
Variable scores(Score how, const Variable& query, const Variable& keys, const Variable& weight) {
    const std::int64_t n = query.dim(0), m = keys.dim(0), d = query.dim(1);
    if (how == Score::additive) {
        const Variable hidden = ops::tanh(ops::add(ops::reshape(query, {n, 1, d}), keys));
        return ops::reshape(ops::matmul(ops::reshape(hidden, {n * m, d}), weight), {n, m});
    }
    const Variable products = ops::matmul(query, keys, false, true);
    if (how == Score::unscaled) return products;
    return ops::scale(products, 1 / std::sqrt(how == Score::scaled ? static_cast<double>(d) : wrong_width));
}

// Standard deviation d^-0.5.
Variable additive_weight(std::int64_t d, std::uint64_t key) {
    return Variable(normal({d, 1}, 1 / std::sqrt(static_cast<double>(d)), key));
}

struct Largest {
    double query, keys;
};

// The largest elements of the gradients of weight [0, 0] with respect to query and keys.
Largest largest_gradients(Score how, const Tensor& query_values, const Tensor& key_values, const Variable& weight) {
    const Variable query(query_values, true), keys(key_values, true);
    const Variable weights = ops::softmax(scores(how, query, keys, weight));
    Tensor first = Tensor::zeros(weights.shape(), DType::f32);
    first.mutable_data<float>()[0] = 1;
    backward(weights, first);
    return {std::ranges::max(query.grad().values<float>()), std::ranges::max(keys.grad().values<float>())};
}

// The largest gradients of all draws, ascending.
struct Gradients {
    std::vector<double> query, keys, gain;  // gain: query gradient over the unscaled one of the same draw
};

std::vector<Gradients> gradients_of_draws(const Options& options) {
    std::vector<Gradients> all(std::size(all_scores));
    for (std::int64_t draw = 0; draw < draws; ++draw) {
        const Tensor query = uniform({1, width}, 0, 1, key(options, fmt::format("query {}", draw)));
        const Tensor keys = uniform({keys_count, width}, 0, 1, key(options, fmt::format("keys {}", draw)));
        const Variable weight = additive_weight(width, key(options, fmt::format("weight {}", draw)));
        for (const Score how : all_scores) {
            const Largest largest = largest_gradients(how, query, keys, weight);
            Gradients& to = all[static_cast<std::size_t>(how)];
            to.query.push_back(largest.query);
            to.keys.push_back(largest.keys);
        }
        const double unscaled = all[static_cast<std::size_t>(Score::unscaled)].query.back();
        for (Gradients& one : all) one.gain.push_back(one.query.back() / unscaled);
    }
    for (Gradients& one : all)
        for (std::vector<double>* values : {&one.query, &one.keys, &one.gain}) std::ranges::sort(*values);
    return all;
}

struct Flow {
    double passed;    // 1 - sum p^2, averaged over the rows
    double variance;  // of the scores
};

Flow flow(Score how, const Tensor& query, const Tensor& keys, const Variable& weight) {
    const Variable logits = scores(how, Variable(query), Variable(keys), weight);
    double sum = 0, squares = 0, concentration = 0;
    for (const double score : logits.value().to_vector()) {
        sum += score;
        squares += score * score;
    }
    for (const double p : ops::softmax(logits).value().to_vector()) concentration += p * p;
    const auto count = static_cast<double>(logits.value().numel());
    return {1 - concentration / static_cast<double>(query.rows()), squares / count - (sum / count) * (sum / count)};
}

Finding finding(const std::string& what, const std::vector<Gradients>& all, std::vector<double> Gradients::*of, double quantile) {
    Finding result{what, {}};
    for (const Gradients& one : all) {
        const std::vector<double>& values = one.*of;
        result.values.push_back(values[static_cast<std::size_t>(quantile * static_cast<double>(values.size() - 1))]);
    }
    return result;
}

}  // namespace

const Code code = {.wrong = R"(
const Variable scores = ops::matmul(q, k, false, true);
// or scaled by d_model, the width of all heads together
const Variable weights = ops::softmax(scores);
)",
                           .right = R"(
const Variable scores = ops::matmul(q, k, false, true);
const double root = std::sqrt(static_cast<double>(q.cols()));
const Variable weights = ops::softmax(ops::scale(scores, 1 / root));
)"};

Result experiment(const Options& options) {
    Result result{
        .variants = {"scaled", "unscaled", "wrong width", "additive"},
        .findings = {},
        .why =
            "A dot product of d_k independent terms has d_k times the variance of one term, so the spread of the scores grows "
            "with the width until one key has all the weight. A softmax with one weight near 1 passes almost no gradient: "
            "training cannot change the other weights. Divided by sqrt(d_k), where d_k is the number of columns multiplied and "
            "no other width, the scores have variance 1 at every width.",
        .figures = {}};
    const std::vector<Gradients> gradients = gradients_of_draws(options);
    result.findings = {finding("largest gradient in Q, median of 200 draws", gradients, &Gradients::query, 0.5),
                       finding("largest gradient in Q, 5 %", gradients, &Gradients::query, 0.05),
                       finding("largest gradient in Q, 95 %", gradients, &Gradients::query, 0.95),
                       finding("largest gradient in K, median of 200 draws", gradients, &Gradients::keys, 0.5),
                       finding("largest gradient in K, 5 %", gradients, &Gradients::keys, 0.05),
                       finding("largest gradient in K, 95 %", gradients, &Gradients::keys, 0.95),
                       finding("gain over unscaled, median", gradients, &Gradients::gain, 0.5)};
    picture::LineChart distribution{.title = "largest gradient in Q of the weight at [0, 0]: 200 draws, ascending",
                                    .x = {.label = "draw"},
                                    .y = {.label = "largest gradient", .logarithmic = true},
                                    .series = {}};
    for (const Score how : all_scores) {
        const auto i = static_cast<std::size_t>(how);
        distribution.series.push_back(curve(result.variants[i], gradients[i].query));
    }
    result.figures.push_back(
        {svg(mistakes_first(distribution)), "Unscaled, the gradient of one entry varies with the draw over many powers of ten."});

    for (const bool bell : {true, false}) {
        const std::string inputs = bell ? "normal" : "uniform";
        picture::LineChart chart{.title = "gradient that the softmax passes, " + inputs + " inputs",
                                 .x = {.label = "d_k", .logarithmic = true},
                                 .y = {.label = "1 - sum p^2", .from = 0, .to = 1},
                                 .series = {}};
        Finding passed{"1 - sum p^2 at d_k 512, " + inputs + " inputs", {}}, variance{"variance of the scores, " + inputs, {}};
        for (const Score how : all_scores)
            chart.series.push_back({.name = result.variants[static_cast<std::size_t>(how)], .x = {}, .y = {}});
        for (std::int64_t d = 8; d <= width; d *= 2) {
            const std::uint64_t query_key = key(options, fmt::format("{} query {}", inputs, d));
            const std::uint64_t keys_key = key(options, fmt::format("{} keys {}", inputs, d));
            const Tensor query = bell ? normal({16, d}, 1, query_key) : uniform({16, d}, 0, 1, query_key);
            const Tensor keys = bell ? normal({keys_count, d}, 1, keys_key) : uniform({keys_count, d}, 0, 1, keys_key);
            const Variable weight = additive_weight(d, key(options, fmt::format("weight of width {}", d)));
            for (const Score how : all_scores) {
                const Flow measured = flow(how, query, keys, weight);
                picture::Series& line = chart.series[static_cast<std::size_t>(how)];
                line.x.push_back(static_cast<double>(d));
                line.y.push_back(measured.passed);
                if (d < width) continue;
                passed.values.push_back(measured.passed);
                variance.values.push_back(measured.variance);
            }
        }
        result.findings.push_back(passed);
        result.findings.push_back(variance);
        result.figures.push_back(
            {svg(mistakes_first(chart)), bell ? "1,024 keys. The wrong width is always 64, which scales too little beyond it."
                                              : "Uniform inputs have a twelfth of the variance, so the effect is weaker."});
    }
    return result;
}

}  // namespace heddle::lab::scaling
