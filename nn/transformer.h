// The encoder-decoder of Vaswani et al., "Attention is all you need" (2017).
#pragma once

#include <memory>

#include "nn/layers.h"

namespace heddle::nn {

/// The bias of an output projection whose weight is another module's.
class OutputBias : public Module {
  public:
    /// [vocabulary], zeros; that of `forbidden`, unless it is negative, is forbidden_bias.
    OutputBias(Module& parent, std::string_view name, std::int64_t vocabulary, std::int32_t forbidden = -1);

    std::string_view kind() const override { return "OutputBias"; }
    const Variable& bias() const { return bias_; }

  private:
    Variable bias_;
};

/// With options.decoder_only a language model, which has no source side: encode() gives an undefined value, and the sources and
/// memories of the other functions are not used (LanguageModel is its own face).
///
/// Parameters (see named_tensors()): `embedding.weight`, or `source_embedding.weight` and `target_embedding.weight`;
/// `encoder.layers.0.self_attention.query.weight` ...; `output.weight` when it is not tied; `output.bias` if there is one.
class Transformer : public Module {
  public:
    /// Error as TransformerOptions::complete. `seed`: as Module's.
    explicit Transformer(const TransformerOptions& options, std::optional<std::uint64_t> seed = 1, DType dtype = DType::f32);

    std::string_view kind() const override { return "Transformer"; }
    /// The options with all defaults filled in.
    const TransformerOptions& options() const { return options_; }

    /// The encoder's result [rows, d_model], or with MemoryFrom::layer the results of all layers side by side. Rows outside the
    /// spans are unspecified.
    Variable encode(const Tensor& tokens, const Spans& spans, AttentionMaps* maps = nullptr) const;
    Variable encode(const Sentences& source, AttentionMaps* maps = nullptr) const;
    /// The decoder's last hidden values [rows, d_model], the input of logits(). Sentence i of `target_in` (the beginning mark
    /// and the sentence) attends to sentence i of the memory.
    Variable decode(const Tensor& target_in, const Spans& target_spans, const Variable& memory, const Spans& memory_spans,
                    AttentionMaps* maps = nullptr) const;
    Variable decode(const Sentences& target_in, const Variable& memory, const Spans& memory_spans,
                    AttentionMaps* maps = nullptr) const;
    /// Cross entropy of `target_out` i32 [rows of target_in] (the sentence and the end mark; options.ignore in rows outside the
    /// spans), a scalar. Never stores all logits at once.
    Variable loss(const Sentences& source, const Sentences& target_in, const Tensor& target_out,
                  const ops::LossOptions& options = {}, Tensor* statistics = nullptr) const;
    /// log-softmax over the target vocabulary of hidden [rows, d_model] times the output matrix: [rows, target_vocabulary].
    Variable generator(const Variable& hidden) const;
    /// hidden [rows, d_model] times the output matrix, [rows, target_vocabulary], f32 in a bf16 model; not recorded.
    Tensor logits(const Tensor& hidden) const;

    /// A cache for translating these sentences, initially with one hypothesis each: room for `hypotheses` at once and `length`
    /// tokens each (including the beginning mark). `memory` is encode()'s result.
    DecoderCache start_decoding(const Variable& memory, const Spans& memory_spans, std::int64_t hypotheses,
                                std::int64_t length) const;
    /// Reads the next token of every hypothesis, i32 [hypotheses] (first the beginning mark), and returns the logits of the one
    /// after, [hypotheses, target_vocabulary], with the same bits as decode() and logits() for the whole prefix. For evaluation
    /// mode. Error when the cache is full or the number of tokens differs.
    Tensor step(const Tensor& tokens, DecoderCache& cache) const;
    /// [target_vocabulary, d_model]
    const Variable& output_weight() const;
    /// [target_vocabulary], or undefined.
    const Variable& output_bias() const;

  private:
    const Embedding& target_embedding() const;

    TransformerOptions options_;
    Embedding source_embedding_;                            // a language model's only one
    std::unique_ptr<Embedding> own_target_embedding_;       // null if it is the source's
    std::unique_ptr<PositionalEncoding> source_positions_;  // null in a language model
    PositionalEncoding target_positions_;
    std::unique_ptr<Encoder> encoder_;  // null in a language model
    Decoder decoder_;
    std::unique_ptr<Linear> own_output_;       // null if it is the target embedding
    std::unique_ptr<OutputBias> tied_output_;  // null unless it is, and has a bias
    mutable kernels::PackedWeight packed_output_;
};

}  // namespace heddle::nn
