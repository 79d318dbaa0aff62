// The log-probabilities of given translations: of lines, and of batches of token pairs.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "apps/translation/batching/batches.h"
#include "apps/translation/vocabulary/unknown_text.h"
#include "apps/translation/vocabulary/vocabularies.h"
#include "nn/search/scoring.h"

namespace heddle::app {

/// The likelihood of given translations: sums over all target tokens, without label smoothing.
struct Likelihood {
    double nll = 0;
    std::int64_t tokens = 0;
    std::int64_t correct = 0;
};
/// The likelihood of a batch, by Transformer::loss(); the model must be in evaluation mode.
Likelihood likelihood(const nn::Transformer& model, const PairBatch& batch);
/// The same for each batch.
using LikelihoodOfBatches = std::function<std::vector<Likelihood>(std::span<const PairBatch>)>;

/// Which of them are shown the sources and the targets.
struct UnknownSides {
    UnknownText* source = nullptr;
    UnknownText* target = nullptr;
};
struct LineScores {
    std::vector<nn::PairScore> scores;
    std::int64_t cut_sources = 0;
};
/// nn::score() of lines, sources cut as for translating (see Translator).
LineScores score_lines(const nn::Ensemble& models, const Vocabularies& vocabularies, std::span<const std::string> sources,
                       std::span<const std::string> targets, const UnknownSides& unknown = {},
                       const nn::ScoreBatches& compute = {});

}  // namespace heddle::app
