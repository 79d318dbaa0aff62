// The log-probabilities of given translations.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "apps/translation/batching/batches.h"
#include "apps/translation/decoding/ensemble.h"
#include "apps/translation/vocabulary/unknown_text.h"
#include "apps/translation/vocabulary/vocabularies.h"

namespace heddle::app {

/// compute(batches) where there is a `compute`, such as several processes; otherwise one(batch) of each.
template <class Compute, class One, class Batches>
auto results_of(const Compute& compute, const One& one, const Batches& batches) {
    if (compute) return compute(batches);
    decltype(compute(batches)) results;
    for (const auto& batch : batches) results.push_back(one(batch));
    return results;
}

struct PairScore {
    double log_probability = 0;  ///< log p(target | source), the end mark's included
    std::int64_t tokens = 0;     ///< of the target, the end mark included
    bool complete = true;        ///< false: the target is longer than learned positions reach, see score_pairs
};

/// log p of each token of batch.target_out; the models must be in evaluation mode.
std::vector<double> token_log_probabilities(const Ensemble& models, const PairBatch& batch);
/// The same for each batch.
using ScoreBatches = std::function<std::vector<std::vector<double>>(std::span<const PairBatch>)>;

/// The likelihood of given translations: sums over all target tokens, without label smoothing.
struct Likelihood {
    double nll = 0;
    std::int64_t tokens = 0;
    std::int64_t correct = 0;
};
/// Of a batch, by Transformer::loss(); the model must be in evaluation mode.
Likelihood likelihood(const nn::Transformer& model, const PairBatch& batch);
/// The same for each batch.
using LikelihoodOfBatches = std::function<std::vector<Likelihood>(std::span<const PairBatch>)>;

/// Teacher forcing, without label smoothing; score n belongs to pair n. A side without tokens is its end mark alone. Of a target
/// that is too long for learned positions the tokens that fit are scored, without an end mark: as the search scores a translation
/// that it cuts there. Sources must fit. A pair's score is the same alone and among any others. The models must be in
/// evaluation mode. `score` computes the batches; empty: this process does.
std::vector<PairScore> score_pairs(const Ensemble& models, std::span<const TokenPair> pairs, const ScoreBatches& score = {});

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
                       std::span<const std::string> targets, const UnknownSides& unknown = {}, const ScoreBatches& score = {});

}  // namespace heddle::app
