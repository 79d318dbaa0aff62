#include "apps/translation/metrics/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/format.h"
#include "core/parallel.h"
#include "core/random.h"

namespace heddle::app {
namespace {

using ScoredLines = std::span<const LineStatistics>;
using Scores = std::vector<double>;

constexpr std::size_t metric_count = all_metrics.size();

/// Both systems' scores on each resample, by metric.
struct Resamples {
    std::array<Scores, metric_count> first;
    std::array<Scores, metric_count> second;
};

/// The random numbers of one resample, independent of those of other resamples and seeds.
Sequence numbers_of(std::uint64_t seed, std::int64_t resample) {
    Generator keys;
    keys.seed = seed;
    keys.update = static_cast<std::uint64_t>(resample);
    return Sequence(keys.next_key("bootstrap"));
}

void put_scores(std::array<Scores, metric_count>& scores, std::size_t resample, const LineStatistics& drawn) {
    for (std::size_t m = 0; m < metric_count; ++m) scores[m][resample] = corpus_score(all_metrics[m], drawn);
}

Resamples draw(ScoredLines first, ScoredLines second, std::int64_t resamples, std::uint64_t seed) {
    Resamples out;
    for (auto* scores : {&out.first, &out.second}) scores->fill(Scores(static_cast<std::size_t>(resamples)));
    parallel_for(resamples, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            Sequence numbers = numbers_of(seed, i);
            LineStatistics a, b;
            for (std::size_t drawn = 0; drawn < first.size(); ++drawn) {
                const std::uint64_t line = numbers.below(first.size());
                a += first[line];
                b += second[line];
            }
            put_scores(out.first, static_cast<std::size_t>(i), a);
            put_scores(out.second, static_cast<std::size_t>(i), b);
        }
    });
    return out;
}

double mean(const Scores& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

ResampledScore summary(double score, Scores resampled) {
    const double center = mean(resampled);
    std::sort(resampled.begin(), resampled.end());
    const std::size_t outside = resampled.size() / 40;  // 2.5 % at each end
    return {.score = score, .mean = center, .low = resampled[outside], .high = resampled[resampled.size() - 1 - outside]};
}

double p_value(double difference, const Scores& first, const Scores& second) {
    Scores moved(first.size());
    for (std::size_t i = 0; i < moved.size(); ++i) moved[i] = std::abs(second[i] - first[i]);
    const double center = mean(moved);
    const auto as_far = std::count_if(moved.begin(), moved.end(), [&](double d) { return d - center >= std::abs(difference); });
    return static_cast<double>(1 + as_far) / static_cast<double>(1 + moved.size());
}

}  // namespace

std::vector<Comparison> paired_bootstrap(ScoredLines first, ScoredLines second, std::int64_t resamples, std::uint64_t seed) {
    check(first.size() == second.size(), "bootstrap: {} lines of the first system, but {} of the second; wanted equally many",
          first.size(), second.size());
    check(!first.empty(), "bootstrap: no lines to draw from");
    check(resamples > 0, "bootstrap: {} resamples, wanted at least 1", resamples);
    const LineStatistics all_first = sum(first), all_second = sum(second);
    const Resamples drawn = draw(first, second, resamples, seed);
    std::vector<Comparison> comparisons;
    for (std::size_t m = 0; m < metric_count; ++m) {
        const Metric metric = all_metrics[m];
        Comparison& one = comparisons.emplace_back();
        one.metric = metric;
        one.first = summary(corpus_score(metric, all_first), drawn.first[m]);
        one.second = summary(corpus_score(metric, all_second), drawn.second[m]);
        one.difference = one.second.score - one.first.score;
        one.p = p_value(one.difference, drawn.first[m], drawn.second[m]);
    }
    return comparisons;
}

}  // namespace heddle::app
