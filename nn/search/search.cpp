#include "nn/search/search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string_view>

#include "core/format.h"
#include "core/parallel.h"

namespace heddle::nn {
namespace {

// Source tokens that are decoded together: enough rows for the matrix products, and caches that stay small. Fewer where a source
// has many hypotheses, and where several batches are decoded at a time.
std::int64_t tokens_at_once(const DecodeOptions& options, bool side_by_side) {
    const std::int64_t hypotheses = options.sampling ? std::min(options.n_best, options.samples_at_once) : options.beam;
    const std::int64_t tokens = side_by_side ? std::max(250, 1000 / threads()) : 1500;
    return tokens * 8 / std::max<std::int64_t>(8, hypotheses);
}

void check_tokens(std::string_view what, std::span<const std::int32_t> tokens, std::int64_t vocabulary) {
    for (const std::int32_t token : tokens)
        check(token >= 0 && token < vocabulary, "translate: {} has the token {}, wanted tokens of a vocabulary of {}", what,
              token, vocabulary);
}

void check_input(const Ensemble& models, std::span<const Tokens> sources, const DecodeOptions& options) {
    for (const Transformer* model : models.models())
        check(!model->training(), "translate: the model is in training mode; call its eval() first");
    const std::int64_t target = models.target_vocabulary(), source = models.models().front()->options().source_vocabulary;
    for (std::size_t i = 0; i < sources.size(); ++i) {
        check(!sources[i].empty() || models.without_source(), "translate: source {} has no tokens, wanted at least one", i);
        check(sources[i].empty() || !models.without_source(),
              "translate: source {} has tokens, but a language model reads none; generate() continues a text", i);
        check_tokens(fmt::format("source {}", i), sources[i], source);
    }
    check_tokens("prefix", options.prefix, target);
    check_tokens("first", options.first, target);
    check_tokens("forbidden", options.forbidden, target);
    check_tokens("marks", std::array{options.marks.begin, options.marks.end}, target);
    check(std::isfinite(options.length_penalty), "translate: a length penalty of {}, wanted a finite number",
          options.length_penalty);
    check(options.max_length.value_or(1) >= 1, "translate: a max_length of {}, wanted at least 1",
          options.max_length.value_or(1));
}

}  // namespace

std::vector<Hypothesis> translate(const Ensemble& models, const Tokens& source, const DecodeOptions& options) {
    return std::move(translate(models, std::vector<Tokens>{source}, options).front());
}

HypothesisLists translate(const Ensemble& models, const std::vector<Tokens>& sources, const DecodeOptions& options) {
    check_input(models, sources, options);
    const bool side_by_side = decodes_side_by_side(models);
    std::vector<std::int64_t> numbers(sources.size());
    std::iota(numbers.begin(), numbers.end(), 0);
    const std::vector<SourceBatch> batches = source_batches(sources, numbers, options, side_by_side);
    std::vector<HypothesisLists> found = decode(models, batches, options, side_by_side);
    HypothesisLists lists(sources.size());
    for (std::size_t b = 0; b < batches.size(); ++b)
        for (std::size_t i = 0; i < found[b].size(); ++i)
            lists[static_cast<std::size_t>(batches[b].numbers[i])] = std::move(found[b][i]);
    return lists;
}

Sampling drawable(const Sampling& sampling) {
    check(sampling.temperature >= 0, "sampling: a temperature of {}, wanted 0 or more", sampling.temperature);
    Sampling result = sampling;
    if (sampling.temperature == 0) result.top_k = 1, result.temperature = 1;
    return result;
}

Tokens generate(const Ensemble& models, const Tokens& prompt, const GenerateOptions& options) {
    check(models.without_source(), "generate: the model translates; wanted a language model, or translate()");
    const Sampling sampling{
        .top_k = options.top_k, .top_p = options.top_p, .temperature = options.temperature, .seed = options.seed};
    return translate(models, Tokens(),
                     {.prefix = prompt,
                      .sampling = drawable(sampling),
                      .forbidden = options.forbidden,
                      .max_length = options.max_length,
                      .marks = options.marks})
        .front()
        .tokens;
}

HypothesisLists decode(const Ensemble& models, const SourceBatch& batch, const DecodeOptions& options) {
    return options.sampling ? sample(models, batch.sources, batch.numbers, options) : beam_search(models, batch.sources, options);
}

std::vector<HypothesisLists> decode(const Ensemble& models, std::span<const SourceBatch> batches, const DecodeOptions& options,
                                    bool side_by_side) {
    std::vector<HypothesisLists> found(batches.size());
    const auto count = static_cast<std::int64_t>(batches.size());
    // In descending order of length, so that the threads end at about the same time.
    const auto decode_some = [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            const auto b = static_cast<std::size_t>(count - 1 - i);
            found[b] = decode(models, batches[b], options);
        }
    };
    if (side_by_side && count >= threads())
        parallel_for(count, 1, decode_some);
    else
        decode_some(0, count);
    return found;
}

bool decodes_side_by_side(const Ensemble& models) { return threads() > 1 && models.models().front()->device() == Device::cpu; }

std::vector<SourceBatch> source_batches(std::vector<Tokens> sources, std::span<const std::int64_t> numbers,
                                        const DecodeOptions& options, bool side_by_side) {
    std::vector<std::int64_t> widths;
    for (const Tokens& source : sources) widths.push_back(static_cast<std::int64_t>(source.size()));
    std::vector<SourceBatch> batches;
    for (const std::vector<std::int64_t>& indices : batches_by_width(widths, tokens_at_once(options, side_by_side))) {
        SourceBatch& batch = batches.emplace_back();
        for (const std::int64_t i : indices) {
            batch.sources.push_back(std::move(sources[static_cast<std::size_t>(i)]));
            batch.numbers.push_back(numbers[static_cast<std::size_t>(i)]);
        }
    }
    return batches;
}

std::vector<std::vector<std::int64_t>> batches_by_width(std::span<const std::int64_t> widths, std::int64_t tokens) {
    const auto width = [&](std::int64_t i) { return widths[static_cast<std::size_t>(i)]; };
    std::vector<std::int64_t> order(widths.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return width(a) < width(b); });
    std::vector<std::vector<std::int64_t>> batches;
    for (const std::int64_t i : order) {
        const bool full = batches.empty() || (static_cast<std::int64_t>(batches.back().size()) + 1) * width(i) > tokens;
        if (full) batches.emplace_back();
        batches.back().push_back(i);
    }
    return batches;
}

double normalised(double log_probability, std::int64_t length, double alpha) {
    return log_probability / std::pow(static_cast<double>(length), alpha);
}

std::int64_t longest_translation(const Ensemble& models, std::int64_t source_tokens, std::int64_t prefix_tokens,
                                 std::optional<std::int64_t> max_length) {
    check(!max_length || prefix_tokens <= *max_length,
          "translate: a prefix of {} tokens, but translations of {} at most; use a shorter prefix, or a max_length of {}",
          prefix_tokens, max_length.value_or(0), prefix_tokens + 1);
    const std::int64_t usual = prefix_tokens + (models.without_source() ? models.position_table() : 3 * source_tokens + 10);
    const std::int64_t most = max_length ? *max_length + 1 : usual;
    const std::int64_t longest = std::min(most, models.longest_sentence().value_or(most));
    check(prefix_tokens < longest,
          "translate: a prefix of {} tokens, but the model's position table ends after {}; use a shorter prefix", prefix_tokens,
          longest);
    return longest;
}

}  // namespace heddle::nn
