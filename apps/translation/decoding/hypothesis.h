// Decoding options and hypotheses.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "apps/translation/decoding/ensemble.h"

namespace heddle::app {

/// Draw translations instead of searching for the best.
struct Sampling {
    std::int64_t top_k = 0;  ///< each token is one of the k most probable; 0: any
    double temperature = 1;  ///< draws from p^(1/temperature), made to sum to 1
    std::uint64_t seed = 1;
};

struct DecodeOptions {
    std::int64_t beam = 5;      ///< hypotheses kept at each step; 1: greedy
    double length_penalty = 1;  ///< alpha
    double patience = 2;        ///< a search ends when patience (1 or more) x beam hypotheses have ended; 0: when none can win
    std::int64_t n_best = 1;    ///< translations of each source: the best ones of the beam, or so many samples
    std::vector<std::int32_t> prefix = {};        ///< the tokens that every translation begins with
    std::vector<std::int32_t> first = {};         ///< the tokens that may follow the prefix; empty: all
    std::optional<Sampling> sampling = {};        ///< set: draw
    std::vector<std::int32_t> forbidden = {};     ///< tokens that are not written; log p of the others stays the model's
    std::optional<std::int64_t> max_length = {};  ///< of a translation, in tokens, without its end mark; see longest_translation
};

struct Hypothesis {
    std::vector<std::int32_t> tokens;  ///< without beginning and end mark
    double log_probability = 0;        ///< of all tokens, with the end mark's, when it ended
    double score = 0;                  ///< log_probability / length^alpha; the length counts the end mark
    bool ended = false;                ///< false: cut at the maximum length
};

/// The hypotheses of each source.
using HypothesisLists = std::vector<std::vector<Hypothesis>>;

/// log p / length^alpha
double normalised(double log_probability, std::int64_t length, double alpha);

/// The tokens that a search may write: 3 x source + 10 after the prefix, or `max_length` and an end mark after them; or what a
/// table of learned positions holds. Both lengths count the end mark: `source_tokens` is that of beam_search()'s sources, which
/// end with one. Error when nothing is left after the prefix.
std::int64_t longest_translation(const Ensemble& models, std::int64_t source_tokens, std::int64_t prefix_tokens = 0,
                                 std::optional<std::int64_t> max_length = {});

}  // namespace heddle::app
