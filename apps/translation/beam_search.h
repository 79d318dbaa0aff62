// Beam search: the best translation among those that a few open hypotheses at a time can reach.
//
//     score(y) = log p(y | x) / |y|^alpha            |y| counts the end mark
//
// Wu et al., "Google's neural machine translation system" (2016), section 7, with their ((5 + |y|) / 6)^alpha in its plain form
// |y|^alpha, as Marian and CTranslate2 have it. alpha = 0 compares plain log-probabilities. At each step every open hypothesis is
// continued by its most probable tokens; the best `beam` continuations that do not end stay open, those among the best 2 beam
// that end are finished. (A beam of 1 is greedy: the most probable token alone, until it is the end mark.) A hypothesis is closed
// once it cannot win: log p only falls, so log p / longest^alpha bounds what it can still reach.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nn/transformer.h"

namespace heddle::app {

/// How to search for the best translation.
struct DecodeOptions {
    std::int64_t beam = 5;      ///< hypotheses kept at each step; 1: greedy
    double length_penalty = 1;  ///< alpha
};

struct Hypothesis {
    std::vector<std::int32_t> tokens;  ///< without beginning and end mark
    double log_probability = 0;        ///< with the end mark's, when it ended
    double score = 0;
    bool ended = false;  ///< false: cut at the greatest length
};

/// The tokens that a translation may have at most: 3 x source + 10, or what a table of learned positions holds.
std::int64_t longest_translation(const nn::Transformer& model, std::int64_t source_tokens);

/// The best hypothesis for each source (token ids, end mark included). All sources are decoded together, each as if it were
/// alone: its result does not depend on the others. The model must be in evaluation mode.
std::vector<Hypothesis> beam_search(const nn::Transformer& model, std::span<const std::vector<std::int32_t>> sources,
                                    const DecodeOptions& options);

}  // namespace heddle::app
