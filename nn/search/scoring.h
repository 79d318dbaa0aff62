// What a model says about given translations: their log-probabilities, the likeliest tokens at each step, its attention.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "nn/search/ensemble.h"

namespace heddle::nn {

struct PairScore {
    double log_probability = 0;  ///< log p(target | source), the end mark's included
    std::int64_t tokens = 0;     ///< of the target, the end mark included
    bool complete = true;        ///< false: the target is longer than learned positions reach, see score()
};

/// Pairs whose targets are scored together.
struct ScoreBatch {
    std::vector<Tokens> sources;         ///< end mark included
    std::vector<Tokens> written;         ///< what the decoder writes: a target and its end mark
    std::vector<std::int64_t> indices;   ///< the numbers of the pairs in the whole input
    std::int32_t begin = Marks{}.begin;  ///< what the decoder reads first
};

/// log p of each token of batch.written, one sentence after another; the models must be in evaluation mode.
std::vector<double> token_log_probabilities(const Ensemble& models, const ScoreBatch& batch);
/// The same for each batch.
using ScoreBatches = std::function<std::vector<std::vector<double>>(std::span<const ScoreBatch>)>;

/// The log-probability of each target given its source, by teacher forcing and without label smoothing. `sources` is what the
/// encoder reads: end them with the end mark if the model was trained so. `targets` are without marks; the end mark is scored,
/// too, and is all there is of a target without tokens. If a target is too long for learned positions, the tokens that fit are
/// scored, without an end mark: a search scores a translation that it cuts there in the same way. A pair's score is the same
/// alone and among any others. A language model's sources are without tokens. `models` is a Transformer in evaluation mode, or
/// several. `compute` computes the batches; empty: this process does. Error when the model is in training mode, the numbers of
/// sources and targets differ, or a source is too long for learned positions or has no tokens.
std::vector<PairScore> score(const Ensemble& models, std::span<const Tokens> sources, std::span<const Tokens> targets,
                             const Marks& marks = {}, const ScoreBatches& compute = {});
/// The same for one pair: heddle::score(model, source, target).log_probability.
PairScore score(const Ensemble& models, const Tokens& source, const Tokens& target, const Marks& marks = {});

/// A step of the decoder.
struct StepProbabilities {
    double written = 0;                                      ///< the probability of the token that it wrote
    std::vector<std::pair<std::int32_t, double>> likeliest;  ///< tokens, the most probable first; equal ones in rising order
};
/// A step for each token of `written`, with the `count` most likely tokens (all, when there are fewer): p(token | source, what
/// was read). The decoder reads read[0 .. i] before it writes written[i]. The model must be in evaluation mode. The product over
/// the steps is the probability of the translation, its prefix included.
std::vector<StepProbabilities> step_probabilities(const Transformer& model, const Tokens& source, const Tokens& read,
                                                  std::span<const std::int32_t> written, std::size_t count);

/// The attention of the model, which must be in evaluation mode, while it reads sources[i] and read[i]: for each pair all its
/// maps, f32 on the CPU, each [1, heads, queries, keys] without the room that longer neighbours need. All pairs are computed
/// together; a pair has the same maps alone and in any batch.
std::vector<AttentionMaps> attention_maps(const Transformer& model, std::span<const Tokens> sources,
                                          std::span<const Tokens> read);

}  // namespace heddle::nn
