#include "apps/translation/metrics/metrics.h"

#include <fmt/format.h>
#include <algorithm>

#include "apps/translation/text/unicode.h"
#include "apps/translation/text/unicode_tables.h"
#include "core/format.h"
#include "core/parallel.h"
#include "core/text.h"
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

namespace {

constexpr double unspaced_share = 1.0 / 3, chinese_share = 0.9, applying_share = 0.1;

/// Blocks of Chinese characters: radicals, ideographs, Bopomofo, and the planes of the extensions.
constexpr CodeRange chinese_blocks[] = {{0x2E80, 0x2FDF}, {0x3005, 0x3007},  {0x3021, 0x302F}, {0x3038, 0x303B},
                                        {0x3100, 0x312F}, {0x31A0, 0x31BF},  {0x3400, 0x4DBF}, {0x4E00, 0x9FFF},
                                        {0xF900, 0xFAFF}, {0x20000, 0x3FFFF}};

/// Blocks of other scripts without spaces between words: Thai, Lao, Tibetan, Burmese, Khmer, Tai, Balinese, Japanese, Javanese.
constexpr CodeRange other_blocks[] = {{0x0E00, 0x0FFF}, {0x1000, 0x109F}, {0x1780, 0x17FF},  {0x1950, 0x19DF}, {0x1A20, 0x1AAF},
                                      {0x1B00, 0x1B7F}, {0x3031, 0x3035}, {0x3040, 0x30FF},  {0x31F0, 0x31FF}, {0xA980, 0xA9FF},
                                      {0xAA60, 0xAADF}, {0xFF66, 0xFF9F}, {0x1B000, 0x1B16F}};

/// Counts of a text's letters, marks and digits.
struct Characters {
    double all = 0;
    double chinese = 0;
    double other_unspaced = 0;

    double unspaced() const { return chinese + other_unspaced; }
};

Characters count_characters(std::span<const std::string> lines) {
    Characters count;
    for (const std::string& line : lines)
        for (const char32_t c : decode_utf8(line)) {
            if (!is_word_character(c)) continue;
            ++count.all;
            if (is_in(chinese_blocks, c)) ++count.chinese;
            if (is_in(other_blocks, c)) ++count.other_unspaced;
        }
    return count;
}

void choose_tokenizer(MetricChoice& choice, std::span<const std::string> references) {
    const Characters count = count_characters(references);
    if (count.unspaced() <= unspaced_share * count.all) return;
    const bool chinese = count.chinese >= chinese_share * count.unspaced();
    choice.tokenizer = chinese ? Tokenizer::zh : Tokenizer::character;
    choice.reason = fmt::format("{:.0f} % of the references' characters are {}",
                                100 * (chinese ? count.chinese : count.unspaced()) / count.all,
                                chinese ? "Chinese" : "of a script without spaces between words");
}

}  // namespace

MetricChoice choose_metric(std::span<const std::string> references, Tokenizer wanted) {
    MetricChoice choice;
    if (wanted == Tokenizer::automatic)
        choose_tokenizer(choice, references);
    else
        choice.tokenizer = wanted;
    const auto long_enough = std::count_if(references.begin(), references.end(), [&](const std::string& line) {
        return bleu_tokens(line, {.tokenizer = choice.tokenizer}).size() >= bleu_orders;
    });
    choice.bleu_applies = static_cast<double>(long_enough) >= applying_share * static_cast<double>(references.size());
    if (!choice.bleu_applies)
        choice.reason = fmt::format("{} of {} references have the four tokens in a row that BLEU looks at",
                                    grouped_text(long_enough), grouped_text(static_cast<std::int64_t>(references.size())));
    return choice;
}

}  // namespace heddle::app
