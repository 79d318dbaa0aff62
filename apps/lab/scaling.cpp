// The scale of dot-product attention.
//
//     right    softmax(q k^T / sqrt(d_k))              scores of variance 1 for every width (Vaswani et al. 2017, section 3.2.1)
//     wrong    softmax(q k^T)                          variance d_k: one weight is nearly 1, and hardly any gradient passes
//     wrong    softmax(q k^T / sqrt(another width))    variance d_k / 64 here
//
// The gradient is that of the weight at [0, 0] with respect to q of 512 columns, uniform in [0, 1), with 1,024 keys; it affects
// only row 0 of the queries, so the other rows are left out. The trace of the softmax's Jacobian, 1 - sum p^2, measures how much
// gradient passes: 0 for a single weight of 1, 1 - 1/n for n equal weights.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "apps/lab/kit.h"

namespace heddle::lab::scaling {
namespace {

constexpr std::int64_t width = 512, keys_count = 1024, draws = 200;

struct Variant {
    std::string name;
    double (*divisor)(double d_k);
};
const Variant variants[] = {{"scaled", [](double d_k) { return std::sqrt(d_k); }},
                            {"unscaled", [](double) { return 1.0; }},
                            {"wrong width", [](double) { return std::sqrt(64.0); }}};

// query [n, d], keys [m, d]; result [n, m].
Variable scores(const Variant& variant, const Variable& query, const Variable& keys) {
    return ops::scale(ops::matmul(query, keys, false, true), 1 / variant.divisor(static_cast<double>(query.dim(1))));
}

// The largest elements of the gradient of weight [0, 0] with respect to the query, in all draws, ascending.
std::vector<double> largest_gradients(const Variant& variant, const Options& options) {
    std::vector<double> largest;
    for (std::int64_t draw = 0; draw < draws; ++draw) {
        const Variable query(uniform({1, width}, 0, 1, key(options, fmt::format("query {}", draw))), true);
        const Variable keys(uniform({keys_count, width}, 0, 1, key(options, fmt::format("keys {}", draw))));
        const Variable weights = ops::softmax(scores(variant, query, keys));
        Tensor first = Tensor::zeros(weights.shape(), DType::f32);
        first.mutable_data<float>()[0] = 1;
        backward(weights, first);
        largest.push_back(std::ranges::max(query.grad().values<float>()));
    }
    std::ranges::sort(largest);
    return largest;
}

struct Flow {
    double passed;    // 1 - sum p^2, averaged over the rows
    double variance;  // of the scores
};

// Normal inputs of width d.
Flow flow(const Variant& variant, std::int64_t d, const Options& options) {
    const Variable query(normal({16, d}, 1, key(options, fmt::format("query of width {}", d))));
    const Variable keys(normal({keys_count, d}, 1, key(options, fmt::format("keys of width {}", d))));
    const Variable logits = scores(variant, query, keys);
    double sum = 0, squares = 0, concentration = 0;
    for (const double score : logits.value().to_vector()) {
        sum += score;
        squares += score * score;
    }
    for (const double p : ops::softmax(logits).value().to_vector()) concentration += p * p;
    const auto count = static_cast<double>(logits.value().numel());
    return {1 - concentration / 16, squares / count - (sum / count) * (sum / count)};
}

Result measure(const Options& options) {
    Result result{.findings = {{"largest gradient in Q, median of 200 draws"},
                               {"largest gradient in Q, 5 %"},
                               {"largest gradient in Q, 95 %"},
                               {"1 - sum p^2 at d_k 512"},
                               {"variance of the scores at d_k 512"}}};
    picture::LineChart distribution{.title = "largest gradient in Q of the weight at [0, 0]: 200 draws, ascending",
                                    .x = {.label = "draw"},
                                    .y = {.label = "largest gradient", .logarithmic = true}};
    picture::LineChart passed{.title = "gradient that the softmax passes",
                              .x = {.label = "d_k", .logarithmic = true},
                              .y = {.label = "1 - sum p^2", .from = 0, .to = 1}};
    for (const Variant& variant : variants) {
        const std::vector<double> largest = largest_gradients(variant, options);
        distribution.series.push_back(curve(variant.name, largest));
        picture::Series& line = passed.series.emplace_back(picture::Series{.name = variant.name});
        Flow at{};
        for (std::int64_t d = 8; d <= width; d *= 2) {
            at = flow(variant, d, options);
            line.x.push_back(static_cast<double>(d));
            line.y.push_back(at.passed);
        }
        const double values[] = {median(largest), largest[draws / 20], largest[draws - draws / 20], at.passed, at.variance};
        result.variants.push_back(variant.name);
        result.add(values);
    }
    result.figures = {
        {svg(mistakes_first(distribution)), "Unscaled, the gradient of one entry varies with the draw over many powers of ten."},
        {svg(mistakes_first(passed)), "1,024 keys. The wrong width is always 64, which scales too little beyond it."}};
    return result;
}

}  // namespace

Experiment experiment() {
    return {
        .name = "scaling",
        .group = "Attention",
        .title = "dot products that are not scaled, or by another width's root",
        .caught_by = "Parity.ForwardLossAndEveryGradientEqualPyTorchInF64",
        .why =
            "A dot product of d_k independent terms has d_k times the variance of one term, so the spread of the scores grows "
            "with the width until one key has all the weight. A softmax with one weight near 1 passes almost no gradient: "
            "training cannot change the other weights. Divided by sqrt(d_k), where d_k is the number of columns multiplied and "
            "no other width, the scores have variance 1 at every width.",
        .wrong = R"(
const Variable scores = ops::matmul(q, k, false, true);
// or scaled by d_model, the width of all heads together
const Variable weights = ops::softmax(scores);
)",
        .right = R"(
const Variable scores = ops::matmul(q, k, false, true);
const double root = std::sqrt(static_cast<double>(q.cols()));
const Variable weights = ops::softmax(ops::scale(scores, 1 / root));
)",
        .run = measure};
}

}  // namespace heddle::lab::scaling
