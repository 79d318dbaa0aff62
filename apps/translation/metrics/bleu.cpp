#include "apps/translation/metrics/bleu.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "apps/translation/metrics/ngrams.h"
#include "core/format.h"
#include "core/parallel.h"

namespace heddle::app {
namespace {

double brevity_penalty(std::int64_t hypothesis_length, std::int64_t reference_length) {
    if (hypothesis_length >= reference_length) return 1.0;
    if (hypothesis_length == 0) return 0.0;
    return std::exp(1.0 - static_cast<double>(reference_length) / static_cast<double>(hypothesis_length));
}

BleuScore scored(const BleuStatistics& statistics, bool effective_order) {
    BleuScore bleu{statistics};
    bleu.brevity_penalty = brevity_penalty(bleu.hypothesis_length, bleu.reference_length);
    if (std::all_of(bleu.matches.begin(), bleu.matches.end(), [](std::int64_t n) { return n == 0; })) return bleu;
    double smoothing = 1.0;
    double log_sum = 0;
    std::size_t n = 0;
    for (; n < bleu_orders && bleu.totals[n] > 0; ++n) {
        const auto total = static_cast<double>(bleu.totals[n]);
        if (bleu.matches[n] == 0) smoothing *= 2.0;
        bleu.precisions[n] =
            bleu.matches[n] == 0 ? 100.0 / (smoothing * total) : 100.0 * static_cast<double>(bleu.matches[n]) / total;
        log_sum += std::log(bleu.precisions[n]);
    }
    // Without effective order, an order without any n-gram makes the score zero.
    if (n < bleu_orders && !effective_order) return bleu;
    bleu.score = bleu.brevity_penalty * std::exp(log_sum / static_cast<double>(n));
    return bleu;
}

}  // namespace

BleuStatistics& BleuStatistics::operator+=(const BleuStatistics& other) {
    for (std::size_t n = 0; n < bleu_orders; ++n) {
        matches[n] += other.matches[n];
        totals[n] += other.totals[n];
    }
    hypothesis_length += other.hypothesis_length;
    reference_length += other.reference_length;
    return *this;
}

BleuStatistics bleu_statistics(std::string_view hypothesis, std::string_view reference, const MetricOptions& options) {
    WordNumbers numbers;
    std::array<NgramCounts, bleu_orders> counts;
    count_ngrams(numbers(bleu_tokens(hypothesis, options)), numbers(bleu_tokens(reference, options)), counts);
    BleuStatistics out;
    for (std::size_t n = 0; n < bleu_orders; ++n) {
        out.matches[n] = counts[n].matches;
        out.totals[n] = counts[n].hypothesis;
    }
    out.hypothesis_length = counts[0].hypothesis;
    out.reference_length = counts[0].reference;
    return out;
}

BleuScore corpus_bleu(const BleuStatistics& statistics) { return scored(statistics, false); }

BleuScore sentence_bleu(const BleuStatistics& statistics) { return scored(statistics, true); }

BleuScore corpus_bleu(std::span<const std::string> hypotheses, std::span<const std::string> references,
                      const MetricOptions& options) {
    check(hypotheses.size() == references.size(), "bleu: {} hypotheses, but {} references; wanted one reference per hypothesis",
          hypotheses.size(), references.size());
    std::vector<BleuStatistics> sentences(hypotheses.size());
    parallel_for(static_cast<std::int64_t>(sentences.size()), 32, [&](std::int64_t begin, std::int64_t end) {
        for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
            sentences[i] = bleu_statistics(hypotheses[i], references[i], options);
    });
    BleuStatistics sum;
    for (const BleuStatistics& sentence : sentences) sum += sentence;
    return corpus_bleu(sum);
}

std::string BleuScore::text() const {
    const double ratio =
        reference_length == 0 ? 0.0 : static_cast<double>(hypothesis_length) / static_cast<double>(reference_length);
    return fmt::format("BLEU = {:.2f} {:.1f}/{:.1f}/{:.1f}/{:.1f} (BP = {:.3f} ratio = {:.3f} hyp_len = {} ref_len = {})", score,
                       precisions[0], precisions[1], precisions[2], precisions[3], brevity_penalty, ratio, hypothesis_length,
                       reference_length);
}

}  // namespace heddle::app
