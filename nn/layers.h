// The position-wise feed-forward sublayer, encoder and decoder layers with their residual connections and norms, and the stacks
// of these layers: the encoder and the decoder.
#pragma once

#include <memory>
#include <vector>

#include "autograd/ops.h"
#include "nn/few_rows.h"
#include "nn/layer_norm.h"
#include "nn/linear.h"
#include "nn/multi_head_attention.h"
#include "nn/transformer_options.h"

namespace heddle::nn {

/// ops::relu, ops::gelu or ops::silu.
Variable activated(const Variable& x, ops::Activation activation, Where where = Where::current());

/// activation(x W1^T + b1) W2^T + b2 with dropout after the activation (paper, section 3.3). Children `inner` and `outer`. Gated:
/// ops::gated_feed_forward; `inner` is then one projection of two parts, in files `gate` and `inner`.
class FeedForward : public Module {
  public:
    FeedForward(Module& parent, std::string_view name, std::int64_t d_model, std::int64_t d_ff, ops::Activation activation,
                bool bias = true, double dropout = 0, bool gated = false);

    std::string_view kind() const override { return "FeedForward"; }
    Variable forward(const Variable& x, Where where = Where::current()) const;
    Variable operator()(const Variable& x, Where where = Where::current()) const { return forward(x, where); }
    /// Adds the sublayer's output to the stream of a decoding step; `next` is the norm that follows.
    void step(FewRows& stream, const Norm* next) const;

  private:
    ops::Activation activation_;
    double dropout_;
    bool gated_;
    Linear inner_;
    Linear outer_;
};

/// The values passed between sublayers. With NormPlace::pre, `sum` is the running residual sum and `input` its normalisation,
/// which the next sublayer reads; with NormPlace::post both are the same normalised value.
struct Stream {
    Variable sum;
    Variable input;
};

/// A layer of either stack. Adds each sublayer's output to the stream in one fused pass: residual + dropout + norm.
///
/// Pre- and post-norm differ only in which norm that is. For sublayers s1 .. sk with norms n1 .. nk:
///     pre:   s1 reads n1(x);  after si comes n(i+1);  after sk comes `next`, the first norm of the next layer
///     post:  s1 reads x;      after si comes ni;      `next` is not used
class Layer : public Module {
  public:
    Layer(Module& parent, std::string_view name, const TransformerOptions& options, const std::vector<std::string>& sublayers);

    /// The stream before the first layer. With NormPlace::pre its input is first(x), or x if `first` is null.
    static Stream open(const Variable& x, NormPlace norm, const Norm* first);
    const Norm& first_norm() const { return *norms_.front(); }

  protected:
    /// stream + dropout(output of sublayer `i`), and the norm that follows it.
    Stream join(const Stream& stream, const Variable& output, std::size_t i, const Norm* next) const;
    std::size_t last_sublayer() const { return sublayers_.size() - 1; }
    /// The norm that follows sublayer `i`, or null.
    const Norm* norm_behind(std::size_t i, const Norm* next) const;

    const TransformerOptions options_;  // with defaults

  private:
    std::vector<std::string> sublayers_;
    std::vector<std::unique_ptr<Norm>> norms_;
};

/// Sublayers self_attention and feed_forward (paper, section 3.1).
class EncoderLayer : public Layer {
  public:
    EncoderLayer(Module& parent, std::string_view name, const TransformerOptions& options);

    std::string_view kind() const override { return "EncoderLayer"; }
    /// `next` is the first norm of the following layer, the final norm, or null.
    Stream forward(const Stream& stream, const Spans& spans, const Norm* next, Tensor* weights = nullptr) const;

  private:
    SelfAttention self_attention_;
    FeedForward feed_forward_;
};

/// Sublayers self_attention (causal), cross_attention (none in a language model, options.decoder_only) and feed_forward.
class DecoderLayer : public Layer {
  public:
    DecoderLayer(Module& parent, std::string_view name, const TransformerOptions& options);

    std::string_view kind() const override { return "DecoderLayer"; }
    /// Without cross-attention, memory and its spans are not used.
    Stream forward(const Stream& stream, const Spans& spans, const Variable& memory, const Spans& memory_spans, const Norm* next,
                   Tensor* self_weights = nullptr, Tensor* cross_weights = nullptr) const;
    /// One new row per hypothesis; `layer` is this layer's number in the cache.
    Stream step(const Stream& stream, DecoderCache& cache, std::int64_t layer, const Norm* next) const;
    void step(FewRows& stream, DecoderCache& cache, std::int64_t layer, const Norm* next) const;
    const SelfAttention& self_attention() const { return self_attention_; }
    /// Null in a language model.
    const CrossAttention* cross_attention() const { return cross_attention_.get(); }

  private:
    SelfAttention self_attention_;
    std::unique_ptr<CrossAttention> cross_attention_;
    FeedForward feed_forward_;
};

/// Attention weights of each layer, [sentences, heads, longest query, longest key].
struct AttentionMaps {
    std::vector<Tensor> encoder;  ///< self-attention of the encoder
    std::vector<Tensor> decoder;  ///< self-attention of the decoder
    std::vector<Tensor> cross;    ///< from the decoder to the memory; none in a language model
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
    const Norm* norm_before(std::size_t layer) const;
    Variable forward_checkpointed(Variable x, const Spans& spans) const;
    /// The encoder's result: the last layer's, or with MemoryFrom::layer those of all layers, whose residual `sums` are given
    /// then.
    Variable result(std::vector<Variable> sums, const Variable& last) const;

    TransformerOptions options_;  // with defaults
    std::vector<std::unique_ptr<EncoderLayer>> layers_;
    std::unique_ptr<Norm> final_norm_;
};

/// A stack of decoder layers with an optional final norm. `memory` is the result of Encoder::forward; a language model has none,
/// so that it is undefined there.
class Decoder : public Module {
  public:
    Decoder(Module& parent, std::string_view name, const TransformerOptions& options);

    std::string_view kind() const override { return "Decoder"; }
    Variable forward(const Variable& x, const Spans& spans, const Variable& memory, const Spans& memory_spans,
                     AttentionMaps* maps = nullptr) const;
    /// Processes one new row per hypothesis; the cache has advanced already.
    Variable step(const Variable& x, DecoderCache& cache) const;
    /// Before steps that are captured: computes what they read for so many tokens.
    void expect_length(std::int64_t length) const;
    /// True if x is processed by step_few_rows(): few rows on CUDA in bf16 of a model without RMS norm, gates and positions in
    /// attention, and no hook observes the ops. The results are the same within rounding.
    bool takes_few_rows(const Tensor& x) const;
    /// step() for few rows; the stream's norm is the last one.
    FewRows step_few_rows(const Tensor& x, DecoderCache& cache) const;
    /// For each layer the memory's keys and values side by side, [rows', 2 key_heads head_dim]; none in a language model.
    std::vector<Tensor> memory_keys_values(const Variable& memory) const;

  private:
    const Norm* norm_before(std::size_t layer) const;
    Variable forward_checkpointed(Variable x, const Spans& spans, const Variable& memory, const Spans& memory_spans) const;
    /// The part of the encoder's result that layer `layer` attends to.
    Variable memory_of(std::size_t layer, const Variable& memory) const;

    TransformerOptions options_;  // with defaults
    std::vector<std::unique_ptr<DecoderLayer>> layers_;
    std::unique_ptr<Norm> final_norm_;
};

}  // namespace heddle::nn
