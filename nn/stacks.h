// The encoder and the decoder: stacks of layers.
#pragma once

#include <memory>
#include <vector>

#include "nn/layers.h"

namespace heddle::nn {

/// Attention weights of each layer, [sentences, heads, longest query, longest key].
struct AttentionMaps {
    std::vector<Tensor> encoder;  ///< self-attention of the encoder
    std::vector<Tensor> decoder;  ///< self-attention of the decoder
    std::vector<Tensor> cross;    ///< from the decoder to the memory
};

/// A stack of encoder layers with an optional final norm.
class Encoder : public Module {
  public:
    Encoder(Module& parent, std::string_view name, const TransformerOptions& options);

    std::string_view kind() const override { return "Encoder"; }
    /// x [rows, d_model]: embedded tokens; result [rows, d_model]. With MemoryFrom::layer, the results of all layers side by
    /// side, [rows, layers d_model], each after the final norm if there is one; the last of them equals the result of
    /// MemoryFrom::last.
    Variable forward(const Variable& x, const Spans& spans, AttentionMaps* maps = nullptr) const;

  private:
    const LayerNorm* norm_before(std::size_t layer) const;
    Variable forward_checkpointed(Variable x, const Spans& spans) const;
    /// The encoder's result: the last layer's, or with MemoryFrom::layer those of all layers, whose residual `sums` are given
    /// then.
    Variable result(std::vector<Variable> sums, const Variable& last) const;

    TransformerOptions options_;  // with defaults
    std::vector<std::unique_ptr<EncoderLayer>> layers_;
    std::unique_ptr<LayerNorm> final_norm_;
};

/// A stack of decoder layers with an optional final norm. `memory` is the result of Encoder::forward.
class Decoder : public Module {
  public:
    Decoder(Module& parent, std::string_view name, const TransformerOptions& options);

    std::string_view kind() const override { return "Decoder"; }
    Variable forward(const Variable& x, const Spans& spans, const Variable& memory, const Spans& memory_spans,
                     AttentionMaps* maps = nullptr) const;
    /// Processes one new row per hypothesis; the cache has advanced already.
    Variable step(const Variable& x, DecoderCache& cache) const;
    /// True if x is processed by step_few_rows(): few rows on CUDA in bf16, and no hook observes the ops. The results are the
    /// same within rounding.
    bool takes_few_rows(const Tensor& x) const;
    /// step() for few rows; the stream's norm is the last one.
    FewRows step_few_rows(const Tensor& x, DecoderCache& cache) const;
    /// For each layer the memory's keys and values side by side, [rows', 2 key_heads head_dim].
    std::vector<Tensor> memory_keys_values(const Variable& memory) const;

  private:
    const LayerNorm* norm_before(std::size_t layer) const;
    Variable forward_checkpointed(Variable x, const Spans& spans, const Variable& memory, const Spans& memory_spans) const;
    /// The part of the encoder's result that layer `layer` attends to.
    Variable memory_of(std::size_t layer, const Variable& memory) const;

    TransformerOptions options_;  // with defaults
    std::vector<std::unique_ptr<DecoderLayer>> layers_;
    std::unique_ptr<LayerNorm> final_norm_;
};

}  // namespace heddle::nn
