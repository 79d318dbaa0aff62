// The log-probabilities of given translations.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "apps/translation/batching/batches.h"
#include "apps/translation/search/ensemble.h"
#include "apps/translation/vocabulary/unknown_text.h"
#include "apps/translation/vocabulary/vocabularies.h"

namespace heddle::app {

struct PairScore {
    double log_probability = 0;  ///< log p(target | source), the end mark's included
    std::int64_t tokens = 0;     ///< of the target, the end mark included
    bool complete = true;        ///< false: the target is longer than learned positions reach, see score_pairs
};

/// Teacher forcing, without label smoothing; score n belongs to pair n. A side without tokens is its end mark alone. Of a target
/// that is too long for learned positions the tokens that fit are scored, without an end mark: as the search scores a translation
/// that it cuts there. Sources must fit. A pair's score is the same alone and among any others. The models must be in
/// evaluation mode.
std::vector<PairScore> score_pairs(const Ensemble& models, std::span<const TokenPair> pairs);

/// The same for lines, sources cut as for translating (see Translator). `unknown` is shown each side, where it is given.
struct UnknownSides {
    UnknownText* source = nullptr;
    UnknownText* target = nullptr;
};
struct LineScores {
    std::vector<PairScore> scores;
    std::int64_t cut_sources = 0;
};
LineScores score_lines(const Ensemble& models, const Vocabularies& vocabularies, std::span<const std::string> sources,
                       std::span<const std::string> targets, const UnknownSides& unknown = {});

}  // namespace heddle::app
