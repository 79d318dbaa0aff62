// Batches of one computation on several ranks: rank 0 hands them out, each rank computes its part with its copy of the models,
// and rank 0 gets the results in the batches' order. A batch is what one process would make of the same input and is computed as
// a whole, so results have the bits of one process.
#pragma once

#include <span>
#include <vector>

#include "apps/translation/batching/batches.h"
#include "apps/translation/decoding/scoring.h"
#include "apps/translation/decoding/translate.h"
#include "apps/translation/distributed/message.h"

namespace heddle::app {

/// On rank 0, while the others wait for a command: result n belongs to batch n. All ranks must have the same models, in
/// evaluation mode on rank 0. Rank r computes the batches r, r + R, ...; a single batch is computed by rank 0, without a command
/// to the others. An error on any rank is thrown here when all are done, with the rank's name if it is another one, as
/// OutOfMemory if it was that; the ranks then wait for the next command.
std::vector<HypothesisLists> decode_on_ranks(Ranks& ranks, const Ensemble& models, std::span<const SourceBatch> batches,
                                             const DecodeOptions& options);
std::vector<std::vector<double>> score_on_ranks(Ranks& ranks, const Ensemble& models, std::span<const nn::ScoreBatch> batches);
std::vector<Likelihood> likelihoods_on_ranks(Ranks& ranks, const nn::Transformer& model, std::span<const PairBatch> batches);

/// On the others, after Command::batches with this message. The models must be in evaluation mode.
void compute_batches(Ranks& ranks, const Ensemble& models, Message command);

/// decode_on_ranks() for a Translator; of one process where `ranks` is null. The ranks and the models must outlive it.
Decoders decoders_on(Ranks* ranks, const Ensemble& models);
/// score_on_ranks() for nn::score(), likewise.
nn::ScoreBatches scoring_on(Ranks* ranks, const Ensemble& models);
/// likelihoods_on_ranks() for validate(), likewise.
LikelihoodOfBatches likelihoods_on(Ranks* ranks, const nn::Transformer& model);

}  // namespace heddle::app
