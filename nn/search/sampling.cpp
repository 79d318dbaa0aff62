
#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "core/format.h"
#include "core/parallel.h"
#include "core/random.h"
#include "kernels/top_k/top_k.h"
#include "nn/search/search.h"

namespace heddle::nn {
namespace {

// A sample that is being drawn.
struct Path {
    Sequence random;
    std::int64_t longest;
    Hypothesis* hypothesis;
    std::int32_t row;            // the row of logits that its next token is drawn from
    double log_probability = 0;  // without its last token
};

// Each part enters the key well mixed, so that neighbouring seeds and sources have nothing in common.
Sequence random_of(std::uint64_t seed, std::int64_t source, std::int64_t number) {
    Generator parts{.seed = seed,
                    .update = static_cast<std::uint64_t>(source),
                    .micro_batch = static_cast<std::uint64_t>(number),
                    .calls = {}};
    return Sequence(parts.next_key("sampling"));
}

// An index, each with a probability proportional to its weight.
std::size_t draw(std::span<const double> weights, double uniform) {
    double total = 0;
    for (const double weight : weights) total += weight;
    double sum = 0;
    for (std::size_t i = 0; i + 1 < weights.size(); ++i)
        if ((sum += weights[i]) > uniform * total) return i;
    return weights.size() - 1;
}

// Draws from rows of logits [rows, V].
class NextTokens {
  public:
    NextTokens(const Tensor& logits, const DecodeOptions& options)
        : logits_(logits.to(Device::cpu)),
          options_(*options.sampling),
          forbidden_(options.forbidden),
          k_(options_.top_k == 0 ? logits.cols() : std::min(options_.top_k, logits.cols())),
          all_(k_ == logits.cols()),
          // Enough that k of them, or one, are not forbidden.
          best_(kernels::top_k_log_softmax(
              logits_, std::min((all_ ? 1 : k_) + static_cast<std::int64_t>(forbidden_.size()), logits.cols()))) {}

    // Appends a token and its log-probability to the path's hypothesis.
    void extend(Path& path) const {
        const float* x = logits_.data<float>() + path.row * logits_.cols();
        const std::int64_t found = best_.ids.cols();
        const std::int32_t* best = best_.ids.data<std::int32_t>() + path.row * found;
        std::vector<std::int32_t> ids;  // the k most probable of those that may be drawn, or all tokens
        for (std::int64_t j = 0; j < found; ++j)
            if (!is_forbidden(best[j])) ids.push_back(best[j]);
        const auto largest = static_cast<double>(x[ids.front()]);
        ids.resize(std::min(ids.size(), static_cast<std::size_t>(k_)));
        if (all_) {
            ids.resize(static_cast<std::size_t>(k_));
            std::iota(ids.begin(), ids.end(), 0);
        }
        std::vector<double> weights;
        for (const std::int32_t id : ids)
            weights.push_back(all_ && is_forbidden(id) ? 0
                                                       : std::exp((static_cast<double>(x[id]) - largest) / options_.temperature));
        if (options_.top_p < 1) keep_most_probable(ids, weights);
        const std::int32_t token = ids[draw(weights, path.random.uniform())];
        path.hypothesis->tokens.push_back(token);
        path.log_probability = path.hypothesis->log_probability;
        path.hypothesis->log_probability += static_cast<double>(x[token]) - static_cast<double>(x[best[0]]) +
                                            static_cast<double>(best_.values.data<float>()[path.row * found]);
    }

  private:
    // Keeps the fewest tokens that have top_p of all weight; of equal ones the first.
    void keep_most_probable(std::vector<std::int32_t>& ids, std::vector<double>& weights) const {
        std::vector<std::size_t> order(ids.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return weights[a] > weights[b]; });
        const double wanted = options_.top_p * std::accumulate(weights.begin(), weights.end(), 0.0);
        std::vector<std::int32_t> kept;
        std::vector<double> kept_weights;
        double sum = 0;
        for (std::size_t i = 0; i < order.size() && (i == 0 || sum < wanted); ++i) {
            kept.push_back(ids[order[i]]);
            kept_weights.push_back(weights[order[i]]);
            sum += kept_weights.back();
        }
        ids = std::move(kept);
        weights = std::move(kept_weights);
    }

    bool is_forbidden(std::int32_t token) const { return std::ranges::find(forbidden_, token) != forbidden_.end(); }

    Tensor logits_;
    const Sampling& options_;
    std::span<const std::int32_t> forbidden_;
    std::int64_t k_;
    bool all_;
    kernels::TopK best_;
};

// Whether the hypothesis ends here; if so, closes it.
bool ends(const Path& path, const DecodeOptions& options) {
    Hypothesis& hypothesis = *path.hypothesis;
    auto length = static_cast<std::int64_t>(hypothesis.tokens.size());
    hypothesis.ended = hypothesis.tokens.back() == options.marks.end;
    if (!hypothesis.ended && length < path.longest) return false;
    if (!hypothesis.ended && options.max_length && length > *options.max_length) {  // this place was for the end mark
        hypothesis.tokens.pop_back();
        hypothesis.log_probability = path.log_probability;
        --length;
    }
    hypothesis.score = normalised(hypothesis.log_probability, length, options.length_penalty);
    if (hypothesis.ended) hypothesis.tokens.pop_back();
    return true;
}

void check_options(const DecodeOptions& options) {
    check(options.sampling.has_value(), "sampling: no options for it");
    check(options.n_best >= 1, "sampling: {} samples of each source, wanted at least 1", options.n_best);
    check(options.samples_at_once >= 1, "sampling: samples_at_once is {}, wanted at least 1", options.samples_at_once);
    check(options.sampling->top_k >= 0, "sampling: top_k is {}, wanted a number of tokens, or 0 for all",
          options.sampling->top_k);
    check(options.sampling->top_p > 0 && options.sampling->top_p <= 1, "sampling: top_p is {}, wanted more than 0 and at most 1",
          options.sampling->top_p);
    check(options.sampling->temperature > 0, "sampling: a temperature of {}, wanted more than 0", options.sampling->temperature);
    check(std::ranges::find(options.forbidden, options.marks.end) == options.forbidden.end(),
          "sampling: the end mark is forbidden, so that no translation could end");
}

// `count` samples of each source from number `first` on.
HypothesisLists sample_some(const Ensemble& models, std::span<const Tokens> sources, std::span<const std::int64_t> numbers,
                            const DecodeOptions& options, std::int64_t first, std::int64_t count) {
    std::vector<std::int64_t> longest;
    for (const auto& source : sources)
        longest.push_back(longest_translation(models, static_cast<std::int64_t>(source.size()),
                                              static_cast<std::int64_t>(options.prefix.size()), options.max_length));
    Decoding decoding(models, sources, options.marks.begin, static_cast<std::int64_t>(sources.size()) * count,
                      *std::max_element(longest.begin(), longest.end()));
    auto [logits, log_probability] = decoding.start(options.prefix, options.first);

    HypothesisLists results(sources.size());
    std::vector<Path> open;
    for (std::size_t i = 0; i < sources.size(); ++i) {
        results[i].assign(static_cast<std::size_t>(count), {options.prefix, log_probability[i], 0, false});
        for (std::int64_t s = 0; s < count; ++s)
            open.push_back({random_of(options.sampling->seed, numbers[i], first + s), longest[i],
                            &results[i][static_cast<std::size_t>(s)], static_cast<std::int32_t>(i)});
    }
    for (std::vector<std::int32_t> next, parents;; logits = decoding.step(parents, next)) {
        const NextTokens next_tokens(logits, options);
        parallel_for(static_cast<std::int64_t>(open.size()), grain_for(20 * logits.cols()),
                     [&](std::int64_t begin, std::int64_t end) {
                         for (std::int64_t i = begin; i < end; ++i) next_tokens.extend(open[static_cast<std::size_t>(i)]);
                     });
        std::erase_if(open, [&](const Path& path) { return ends(path, options); });
        if (open.empty()) return results;
        parents.clear();
        next.clear();
        for (Path& path : open) {
            parents.push_back(path.row);
            next.push_back(path.hypothesis->tokens.back());
            path.row = static_cast<std::int32_t>(next.size()) - 1;
        }
    }
}

}  // namespace

HypothesisLists sample(const Ensemble& models, std::span<const Tokens> sources, std::span<const std::int64_t> numbers,
                       const DecodeOptions& options) {
    check_options(options);
    check(numbers.size() == sources.size(), "sampling: {} sources, but {} numbers", sources.size(), numbers.size());
    HypothesisLists results(sources.size());
    if (sources.empty()) return results;
    for (std::int64_t first = 0; first < options.n_best; first += options.samples_at_once) {
        const std::int64_t count = std::min(options.samples_at_once, options.n_best - first);
        HypothesisLists some = sample_some(models, sources, numbers, options, first, count);
        for (std::size_t i = 0; i < results.size(); ++i)
            std::move(some[i].begin(), some[i].end(), std::back_inserter(results[i]));
    }
    return results;
}

}  // namespace heddle::nn
