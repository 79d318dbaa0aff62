// Models that translate together, and their state while decoding.
//
//     p(t | prefix, x) = 1/M sum_m p_m(t | prefix, x)          the arithmetic mean, token by token
//
// One model is an ensemble of one: its logits pass through untouched.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "nn/transformer.h"

namespace heddle::nn {

/// Models in evaluation mode with the same vocabularies, which must outlive this object.
class Ensemble {
  public:
    Ensemble(const Transformer& model) : models_{&model} {}  // NOLINT: a model decodes where an ensemble does
    /// Error when there is none, their vocabularies differ in size, or only some are language models.
    explicit Ensemble(std::vector<const Transformer*> models);

    const std::vector<const Transformer*>& models() const { return models_; }
    std::int64_t target_vocabulary() const { return models_.front()->options().target_vocabulary; }
    /// Whether they are language models, whose sources are without tokens.
    bool without_source() const { return models_.front()->options().decoder_only; }
    /// The rows of the shortest position table, whatever its positions.
    std::int64_t position_table() const;
    /// The most tokens that a sentence may have: the shortest table of learned positions; nothing when there is none.
    std::optional<std::int64_t> longest_sentence() const;

    /// From each model's logits [rows, V] to logits of the mean of their probabilities, on the models' device. They have the
    /// scale of the first model's logits: equal models give exactly its bits.
    Tensor mixed(const std::vector<Tensor>& logits) const;

  private:
    std::vector<const Transformer*> models_;
};

/// log p of tokens[i] by row i of logits [tokens, V]: f64 [tokens], on the device of the logits.
Tensor log_probabilities(const Tensor& logits, std::span<const std::int32_t> tokens);

/// The state of an ensemble that translates sentences step by step: each model's cache.
class Decoding {
  public:
    /// For these sources (token ids, end mark included; of a language model none): room for `hypotheses` at once, of `longest`
    /// tokens each. `begin` is the beginning mark.
    Decoding(const Ensemble& models, std::span<const Tokens> sources, std::int32_t begin, std::int64_t hypotheses,
             std::int64_t longest);

    struct Start {
        Tensor logits;                        ///< [sources, V] of the token after the prefix
        std::vector<double> log_probability;  ///< of the prefix, for each source
    };
    /// Reads the beginning mark and `prefix`, the same for every source. Once, before the first step(). If `first` is not empty,
    /// the logits of all other tokens are -inf, and log_probability includes the probability of `first`: so its sum with the
    /// log-probability of the next token is the model's own.
    Start start(std::span<const std::int32_t> prefix, std::span<const std::int32_t> first = {});

    /// Hypothesis i continues the previous hypothesis parents[i] (see DecoderCache::reorder) and reads tokens[i]. Logits of
    /// the token after that, [hypotheses, V].
    Tensor step(std::span<const std::int32_t> parents, const Tokens& tokens);
    /// The same for parents and tokens, i32 [hypotheses], on the device: the host only passes the sentence of each hypothesis.
    Tensor step(const Tensor& parents, const Tensor& tokens, const std::vector<std::int32_t>& sentences);

    // ---- token steps that are captured once and replayed (see DecoderCache)

    bool make_room(std::int64_t steps);
    void start_capture(const kernels::Replays& replays, std::int64_t steps);
    void end_capture();
    void replayed(std::int64_t steps);

  private:
    Tensor read(const Tensor& tokens);

    const Ensemble* models_;
    std::int64_t sources_;
    std::int32_t begin_;
    std::vector<DecoderCache> caches_;
};

}  // namespace heddle::nn
