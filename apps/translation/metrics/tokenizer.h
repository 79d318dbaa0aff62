// BLEU's tokenizers, equal to those of the same names in sacrebleu 2.6.
//
//     13a     splits at spaces and ASCII punctuation, a stop or comma between digits excepted (mteval-v13a)
//     zh      each Chinese character is a token; 13a's rules for the rest
//     char    each character is a token, spaces excepted
//     none    splits at spaces
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/enum_words.h"

namespace heddle::app {

enum class Tokenizer : std::uint8_t {
    automatic,  ///< chosen from the references: choose_metric()
    mteval_13a,
    zh,
    character,
    none,
};

constexpr auto enum_words(Tokenizer) {
    return words_for<Tokenizer>({{Tokenizer::automatic, "auto"},
                                 {Tokenizer::mteval_13a, "13a"},
                                 {Tokenizer::zh, "zh"},
                                 {Tokenizer::character, "char"},
                                 {Tokenizer::none, "none"}});
}

/// What is done to hypothesis and reference before they are compared.
struct MetricOptions {
    bool lowercase = false;                       ///< for all metrics
    Tokenizer tokenizer = Tokenizer::mteval_13a;  ///< for BLEU
};

/// The tokens of one line. Error for Tokenizer::automatic.
std::vector<std::string> bleu_tokens(std::string_view line, const MetricOptions& options = {});

}  // namespace heddle::app
