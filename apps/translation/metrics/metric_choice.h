// Which tokenizer and which metric suit a text. 13a's words stand between spaces: of Chinese, Japanese or Thai a whole line is
// one word, no four of them ever match, and BLEU is 0 whatever the translation.
#pragma once

#include <span>
#include <string>

#include "apps/translation/metrics/metrics.h"

namespace heddle::app {

struct MetricChoice {
    Tokenizer tokenizer = Tokenizer::mteval_13a;  ///< of BLEU
    bool bleu_applies = true;  ///< one reference in ten, or more, has the four tokens in a row that BLEU looks at
    std::string reason = {};   ///< "84 % of the references' characters are Chinese"; empty when it is BLEU with 13a's tokens

    /// Whether chrF says more than BLEU: where BLEU does not apply, and where its tokens are no words.
    bool prefers_chrf() const { return !bleu_applies || tokenizer == Tokenizer::character; }
    /// The better of the two.
    Metric metric() const { return prefers_chrf() ? Metric::chrf : Metric::bleu; }
};

/// Chooses by the references. With `wanted` automatic the tokenizer is 13a, unless more than a third of their letters, marks and
/// digits belong to scripts without spaces between words: then zh if 9 in 10 of these are Chinese characters, else char. (The
/// mecab tokenizers that sacrebleu has for Japanese and Korean need a dictionary. Korean is written with spaces: 13a.)
MetricChoice choose_metric(std::span<const std::string> references, Tokenizer wanted = Tokenizer::automatic);

}  // namespace heddle::app
