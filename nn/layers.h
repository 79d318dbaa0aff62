// Encoder and decoder layers with their residual connections and norms.
#pragma once

#include <memory>

#include "nn/feed_forward.h"
#include "nn/layer_norm.h"
#include "nn/multi_head_attention.h"
#include "nn/transformer_options.h"

namespace heddle::nn {

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
    static Stream open(const Variable& x, NormPlace norm, const LayerNorm* first);
    const LayerNorm& first_norm() const { return *norms_.front(); }

  protected:
    /// stream + dropout(output of sublayer `i`), and the norm that follows it.
    Stream join(const Stream& stream, const Variable& output, std::size_t i, const LayerNorm* next) const;
    /// The norm that follows sublayer `i`, or null.
    const LayerNorm* norm_behind(std::size_t i, const LayerNorm* next) const;

    const TransformerOptions options_;  // with defaults

  private:
    std::vector<std::string> sublayers_;
    std::vector<std::unique_ptr<LayerNorm>> norms_;
};

/// Sublayers self_attention and feed_forward (paper, section 3.1).
class EncoderLayer : public Layer {
  public:
    EncoderLayer(Module& parent, std::string_view name, const TransformerOptions& options);

    std::string_view kind() const override { return "EncoderLayer"; }
    /// `next` is the first norm of the following layer, the final norm, or null.
    Stream forward(const Stream& stream, const Spans& spans, const LayerNorm* next, Tensor* weights = nullptr) const;

  private:
    SelfAttention self_attention_;
    FeedForward feed_forward_;
};

/// Sublayers self_attention (causal), cross_attention and feed_forward.
class DecoderLayer : public Layer {
  public:
    DecoderLayer(Module& parent, std::string_view name, const TransformerOptions& options);

    std::string_view kind() const override { return "DecoderLayer"; }
    Stream forward(const Stream& stream, const Spans& spans, const Variable& memory, const Spans& memory_spans,
                   const LayerNorm* next, Tensor* self_weights = nullptr, Tensor* cross_weights = nullptr) const;
    /// One new row per hypothesis; `layer` is this layer's number in the cache.
    Stream step(const Stream& stream, DecoderCache& cache, std::int64_t layer, const LayerNorm* next) const;
    void step(FewRows& stream, DecoderCache& cache, std::int64_t layer, const LayerNorm* next) const;
    const CrossAttention& cross_attention() const { return cross_attention_; }

  private:
    SelfAttention self_attention_;
    CrossAttention cross_attention_;
    FeedForward feed_forward_;
};

}  // namespace heddle::nn
