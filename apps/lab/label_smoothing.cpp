// Label smoothing over three sets of words: the losses cannot be compared, and some recipes teach the model to predict padding.
//
//     over V      q = (1 - e) [j = t] + e / V                            every word, including padding and the target
//     over V - 1  q = 1 - e at the target, e / (V - 1) at all others     the target gets none of e, but padding does
//     over V - 2  the same with e / (V - 2), and 0 at padding            padding, which is never a right answer, gets none
//
// The loss is -sum_j q_j log p_j, and its minimum is the entropy of q, at p = q. It is found here by gradient descent on the
// logits themselves, so it depends only on the targets.
#include <algorithm>
#include <cmath>
#include <string>

#include "apps/lab/kit.h"
#include "apps/picture/chart.h"

namespace heddle::lab::label_smoothing {
namespace {

constexpr std::int64_t vocabulary = 11;  // the ten digits of a copy task, and padding
constexpr std::int64_t padding = 0;
constexpr std::int64_t words = vocabulary - 1;  // a row of logits for each word as a target
constexpr double smoothing = 0.1;
constexpr int sentence = 20;  // tokens

const std::vector<std::string> names = {"over V", "over V-1", "over V-2"};

// The probabilities of the target, of any other word and of padding, for a vocabulary of any size.
struct Mass {
    double target, other, padding;
};

Mass mass(std::size_t variant, double size) {
    if (variant == 0) return {1 - smoothing + smoothing / size, smoothing / size, smoothing / size};
    if (variant == 1) return {1 - smoothing, smoothing / (size - 1), smoothing / (size - 1)};
    return {1 - smoothing, smoothing / (size - 2), 0};
}

double entropy(std::size_t variant, double size) {
    const Mass q = mass(variant, size);
    const auto part = [](double p) { return p == 0 ? 0 : -p * std::log(p); };
    return part(q.target) + (size - 2) * part(q.other) + part(q.padding);
}

// Row i is the target distribution for word i + 1. [words, vocabulary]
Tensor distribution(std::size_t variant) {
    const Mass q = mass(variant, vocabulary);
    Tensor result = Tensor::full({words, vocabulary}, q.other, DType::f64);
    for (std::int64_t row = 0; row < words; ++row) {
        result.mutable_data<double>()[row * vocabulary + padding] = q.padding;
        result.mutable_data<double>()[row * vocabulary + row + 1] = q.target;
    }
    return result;
}

struct Logits : nn::Module {
    explicit Logits(std::uint64_t seed) : nn::Module(seed, DType::f64) {
        free = add_parameter("logits", normal({words, vocabulary}, 1, seed, DType::f64));
    }
    Variable free;
};

struct Descent {
    std::vector<double> losses;
    double least;
    double on_padding;  // mean probability
};

Descent descend(std::size_t variant, const Options& options) {
    Logits logits(key(options, "logits"));
    std::vector<std::int32_t> targets;
    for (std::int32_t word = 1; word <= words; ++word) targets.push_back(word);
    const Variable q(distribution(variant));
    const auto loss = [&](std::int64_t) {
        if (variant == 0)  // the library's
            return ops::cross_entropy(logits.free, Tensor::from(targets, {words}), {.label_smoothing = smoothing});
        return ops::scale(ops::sum(ops::mul(q, ops::log_softmax(logits.free))), -1.0 / words);
    };
    Descent result{train(logits, {.steps = 1500, .lr = 0.05}, loss), 0, 0};
    result.least = *std::ranges::min_element(result.losses);
    const std::vector<double> p = ops::softmax(logits.free).value().to_vector();
    for (std::int64_t row = 0; row < words; ++row)
        result.on_padding += p[static_cast<std::size_t>(row * vocabulary + padding)] / words;
    return result;
}

picture::Figure minima(const std::vector<Descent>& found) {
    picture::LineChart chart{.title = "minimum loss by vocabulary size",
                             .x = {.label = "V", .logarithmic = true},
                             .y = {.label = "nats per token", .from = 0}};
    for (std::size_t variant = 0; variant < names.size(); ++variant) {
        picture::Series line{.name = names[variant]};
        for (double size = 4; size <= 65536; size *= 1.25) {
            line.x.push_back(size);
            line.y.push_back(entropy(variant, size));
        }
        chart.series.push_back(line);
    }
    picture::Series dots{.name = "by descent", .dots = true};
    for (const Descent& each : found) {
        dots.x.push_back(vocabulary);
        dots.y.push_back(each.least);
    }
    chart.series.push_back(dots);
    return {svg(mistakes_first(chart, names.size())),
            "Lines: the entropy of the targets. The larger the vocabulary, the larger the loss of a perfect model."};
}

Result measure(const Options& options) {
    Finding least{"least loss, by descent"}, formula{"least loss, by formula"}, pad{"mass on padding"};
    Finding drawn{"drawn sentences of 20 tokens with padding, %"};
    std::vector<Descent> found;
    for (std::size_t variant = 0; variant < names.size(); ++variant) {
        found.push_back(descend(variant, options));
        const Descent& each = found.back();
        least.values.push_back(each.least);
        formula.values.push_back(entropy(variant, vocabulary));
        pad.values.push_back(each.on_padding);
        drawn.values.push_back(100 * (1 - std::pow(1 - each.on_padding, sentence)));
    }
    return {.variants = names, .findings = {least, formula, pad, drawn}, .figures = {minima(found)}};
}

}  // namespace

Experiment experiment() {
    return {
        .name = "label-smoothing",
        .group = "The loss",
        .title = "smoothed losses of different recipes compared, and padding trained as a word",
        .caught_by = "CrossEntropy.IsTheMeanOverTheCountedTargets",
        .why =
            "The minimum of a smoothed loss is not zero but the entropy of its targets, which depends on e, on V and on which "
            "words share e: the losses of two recipes cannot be compared, and their exponential is not a perplexity. If e is "
            "spread over V (the published formula, and this library's) or over V - 1, padding gets a part of it, and a perfect "
            "model learns to predict padding. Compare models by the loss without smoothing, which heddle reports in each "
            "validation, and exclude padding when sampling.",
        .wrong = R"(
const Variable loss = ops::cross_entropy(
    logits, targets, {.label_smoothing = 0.1});
const double perplexity = std::exp(loss.value().item());
)",
        .right = R"(
Tensor sums;
const Variable loss = ops::cross_entropy(
    logits, targets, {.label_smoothing = 0.1}, &sums);
const auto [smoothed, nll, counted, correct] =
    ops::loss_statistics(sums);  // nll: without smoothing
const double perplexity =
    std::exp(nll / static_cast<double>(counted));
)",
        .run = measure};
}

}  // namespace heddle::lab::label_smoothing
