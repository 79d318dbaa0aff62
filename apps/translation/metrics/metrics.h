// BLEU, chrF and chrF++ side by side: counted once per line, scored for a corpus, for one line, or for any sum of lines.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/translation/metrics/bleu.h"
#include "apps/translation/metrics/chrf.h"

namespace heddle::app {

enum class Metric { bleu, chrf, chrf_plus_plus };
inline constexpr std::array all_metrics = {Metric::bleu, Metric::chrf, Metric::chrf_plus_plus};

/// "BLEU", "chrF2", "chrF2++".
std::string_view name(Metric metric);

/// A line's contribution to all scores; a corpus is the sum over its lines.
struct LineStatistics {
    BleuStatistics bleu;
    ChrfStatistics chrf;
    std::int64_t lines = 0;
    std::int64_t exact = 0;  ///< lines that equal their reference byte for byte

    LineStatistics& operator+=(const LineStatistics& other);
};

/// One per line, computed on several threads; the options affect the metrics, not `exact`. Error with both counts when they
/// differ.
std::vector<LineStatistics> line_statistics(std::span<const std::string> hypotheses, std::span<const std::string> references,
                                            const MetricOptions& options = {});
LineStatistics sum(std::span<const LineStatistics> lines);

/// A corpus' score, 0..100.
double corpus_score(Metric metric, const LineStatistics& statistics);
/// A line's score, 0..100; BLEU with effective order.
double sentence_score(Metric metric, const LineStatistics& statistics);

/// Describes how a score was computed, in sacrebleu's words.
struct SignatureOptions {
    MetricOptions metric = {};
    bool effective_order = false;  ///< for BLEU; chrF always has it
    std::string resampling = {};   ///< "bs:1000|seed:1|"
};

/// "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:heddle-0.1.0".
std::string signature(Metric metric, const SignatureOptions& options = {});

/// The tokenizer and the metric that suit a text. 13a splits at spaces, so a whole line of Chinese, Japanese or Thai is one word,
/// no four words ever match, and BLEU is 0 for any translation.
struct MetricChoice {
    Tokenizer tokenizer = Tokenizer::mteval_13a;  ///< BLEU's tokenizer
    bool bleu_applies = true;                     ///< at least one reference in ten has four consecutive tokens, which BLEU needs
    std::string reason = {};  ///< "84 % of the references' characters are Chinese"; empty for BLEU with 13a's tokens

    /// True if chrF is more informative than BLEU: BLEU does not apply, or its tokens are not words.
    bool prefers_chrf() const { return !bleu_applies || tokenizer == Tokenizer::character; }
    /// The more informative metric.
    Metric metric() const { return prefers_chrf() ? Metric::chrf : Metric::bleu; }
};

/// Chooses by the references. With `wanted` automatic the tokenizer is 13a, unless more than a third of their letters, marks and
/// digits belong to scripts without spaces between words: then zh if 9 in 10 of these are Chinese characters, else char. (The
/// mecab tokenizers that sacrebleu has for Japanese and Korean need a dictionary. Korean is written with spaces: 13a.)
MetricChoice choose_metric(std::span<const std::string> references, Tokenizer wanted = Tokenizer::automatic);

}  // namespace heddle::app
