#include "apps/translation/metrics/metrics.h"

#include "core/format.h"
#include "core/parallel.h"
#include "core/version.h"

namespace heddle::app {

std::string_view name(Metric metric) {
    switch (metric) {
        case Metric::bleu: return "BLEU";
        case Metric::chrf: return "chrF2";
        case Metric::chrf_plus_plus: return "chrF2++";
    }
    return "";
}

LineStatistics& LineStatistics::operator+=(const LineStatistics& other) {
    bleu += other.bleu;
    chrf += other.chrf;
    lines += other.lines;
    exact += other.exact;
    return *this;
}

std::vector<LineStatistics> line_statistics(std::span<const std::string> hypotheses, std::span<const std::string> references,
                                            const MetricOptions& options) {
    check(hypotheses.size() == references.size(),
          "metrics: {} hypotheses, but {} references; wanted one reference per hypothesis", hypotheses.size(), references.size());
    std::vector<LineStatistics> lines(hypotheses.size());
    parallel_for(static_cast<std::int64_t>(lines.size()), 16, [&](std::int64_t begin, std::int64_t end) {
        for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
            lines[i] = {.bleu = bleu_statistics(hypotheses[i], references[i], options),
                        .chrf = chrf_statistics(hypotheses[i], references[i], options.lowercase),
                        .lines = 1,
                        .exact = hypotheses[i] == references[i] ? 1 : 0};
        }
    });
    return lines;
}

LineStatistics sum(std::span<const LineStatistics> lines) {
    LineStatistics total;
    for (const LineStatistics& line : lines) total += line;
    return total;
}

double corpus_score(Metric metric, const LineStatistics& statistics) {
    switch (metric) {
        case Metric::bleu: return corpus_bleu(statistics.bleu).score;
        case Metric::chrf: return chrf_score(statistics.chrf);
        case Metric::chrf_plus_plus: return chrf_plus_plus_score(statistics.chrf);
    }
    return 0;
}

double sentence_score(Metric metric, const LineStatistics& statistics) {
    return metric == Metric::bleu ? sentence_bleu(statistics.bleu).score : corpus_score(metric, statistics);
}

std::string signature(Metric metric, const SignatureOptions& options) {
    const bool effective_order = metric != Metric::bleu || options.effective_order;
    const std::string how = metric == Metric::bleu
                                ? fmt::format("tok:{}|smooth:exp", word_of(options.metric.tokenizer))
                                : fmt::format("nc:{}|nw:{}|space:no", chrf_characters, metric == Metric::chrf ? 0 : chrf_words);
    return fmt::format("nrefs:1|{}case:{}|eff:{}|{}|version:heddle-{}", options.resampling,
                       options.metric.lowercase ? "lc" : "mixed", effective_order ? "yes" : "no", how, version);
}

}  // namespace heddle::app
