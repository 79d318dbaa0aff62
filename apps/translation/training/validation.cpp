#include "apps/translation/training/validation.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "apps/translation/metrics/metrics.h"
#include "apps/translation/run/clock.h"

namespace heddle::app {
namespace {

// Evaluation mode while it exists.
class Evaluating {
  public:
    explicit Evaluating(nn::Transformer& model) : model_(model), before_(model.training()) { model.eval(); }
    ~Evaluating() { model_.train(before_); }
    Evaluating(const Evaluating&) = delete;
    Evaluating& operator=(const Evaluating&) = delete;

  private:
    nn::Transformer& model_;
    bool before_;
};

void add_texts(ValidationReport& report, const nn::Transformer& model, const TranslateLines& translate,
               const ValidationOptions& options) {
    const auto count = static_cast<std::size_t>(std::min(options.sentences, options.samples));
    if (count == 0 || !translate) return;
    for (std::string& text : translate(model, std::vector<std::string>(count)))
        report.samples.push_back({.source = {}, .reference = {}, .hypothesis = std::move(text)});
}

// Bytes of the lines in the plan, each with its end.
std::int64_t bytes_of(const Corpus& text, const BatchPlan& plan) {
    std::int64_t bytes = 0;
    for (const std::vector<std::int64_t>& batch : plan.batches)
        for (const std::int64_t i : batch) bytes += std::ssize(text.pairs[static_cast<std::size_t>(i)].target) + 1;
    return bytes;
}

void add_translations(ValidationReport& report, const nn::Transformer& model, const Corpus& text, const TranslateLines& translate,
                      const ValidationOptions& options) {
    const auto count = static_cast<std::size_t>(std::min(options.sentences, text.size()));
    if (count == 0 || !translate) return;
    const Corpus first{.pairs = {text.pairs.begin(), text.pairs.begin() + static_cast<std::ptrdiff_t>(count)}};
    const std::vector<std::string> hypotheses = translate(model, first.sources());
    const std::vector<std::string> references = first.targets();
    const MetricChoice choice = choose_metric(references);
    const LineStatistics all = sum(line_statistics(hypotheses, references, {.tokenizer = choice.tokenizer}));
    report.bleu = corpus_score(Metric::bleu, all);
    report.bleu_applies = choice.bleu_applies;
    report.tokenizer = choice.tokenizer;
    if (choice.prefers_chrf()) report.chrf = corpus_score(Metric::chrf, all);
    report.translated = all.lines;
    report.exact = all.exact;
    const auto samples = std::min(static_cast<std::size_t>(options.samples), count);
    for (std::size_t i = 0; i < samples; ++i) {
        const std::size_t at = i * count / samples;
        report.samples.push_back({first.pairs[at].source, first.pairs[at].target, hypotheses[at]});
    }
}

}  // namespace

BatchLimits validation_options(const nn::Transformer& model, std::int64_t batch_tokens, std::string text) {
    return {.batch_tokens = batch_tokens,
            .max_length = model.options().longest_sentence().value_or(0),
            .without_source = model.options().decoder_only,
            .shuffle = false,
            .text = std::move(text),
            .tokens_option = "the most that validation takes at once",
            .length_option = "--position-table"};
}

BatchPlan plan_validation(const nn::Transformer& model, std::span<const TokenPair> pairs, std::int64_t batch_tokens) {
    return plan_batches(pairs, validation_options(model, batch_tokens), 0, 0);
}

Likelihood likelihood(const nn::Transformer& model, std::span<const TokenPair> pairs, std::int64_t batch_tokens) {
    return likelihood(model, pairs, plan_validation(model, pairs, batch_tokens));
}

Likelihood likelihood(const nn::Transformer& model, std::span<const TokenPair> pairs, const BatchPlan& plan,
                      const LikelihoodOfBatches& compute) {
    std::vector<PairBatch> batches;
    for (const std::vector<std::int64_t>& indices : plan.batches) batches.push_back(make_batch(pairs, indices));
    std::vector<Likelihood> parts;
    if (compute)
        parts = compute(batches);
    else
        for (const PairBatch& batch : batches) parts.push_back(likelihood(model, batch));
    Likelihood sum;  // in the plan's order, whoever computed the batches
    for (const Likelihood& batch : parts) {
        sum.nll += batch.nll;
        sum.tokens += batch.tokens;
        sum.correct += batch.correct;
    }
    return sum;
}

ValidationReport validate(nn::Transformer& model, std::span<const TokenPair> pairs, const BatchPlan& plan, const Corpus& text,
                          const TranslateLines& translate, const ValidationOptions& options, const LikelihoodOfBatches& compute) {
    const auto start = std::chrono::steady_clock::now();
    const Evaluating evaluating(model);
    ValidationReport report;
    const Likelihood sum = likelihood(model, pairs, plan, compute);
    const auto tokens = static_cast<double>(std::max<std::int64_t>(1, sum.tokens));
    report.loss = sum.nll / tokens;
    report.perplexity = std::exp(report.loss);
    report.accuracy = static_cast<double>(sum.correct) / tokens;
    const bool of_text = model.options().decoder_only;
    if (of_text && text.size() == std::ssize(pairs))
        report.bits_per_byte = sum.nll / std::log(2.0) / static_cast<double>(std::max<std::int64_t>(1, bytes_of(text, plan)));
    if (of_text && std::isfinite(report.loss)) add_texts(report, model, translate, options);
    if (!of_text && std::isfinite(report.loss)) add_translations(report, model, text, translate, options);
    report.seconds = seconds_since(start);
    return report;
}

}  // namespace heddle::app
