// Chooses the tokenizer and the metric that suit a text. 13a splits at spaces, so a whole line of Chinese, Japanese or Thai is
// one word, no four words ever match, and BLEU is 0 for any translation.
#pragma once

#include <span>
#include <string>

#include "apps/translation/metrics/metrics.h"

namespace heddle::app {

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
