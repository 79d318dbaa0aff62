#include "nn/layers.h"

#include "core/format.h"

namespace heddle::nn {

// ---- residuals and norms

Layer::Layer(Module& parent, std::string_view name, const TransformerOptions& options, const std::vector<std::string>& sublayers)
    : Module(parent, name), options_(options.with_defaults()), sublayers_(sublayers) {
    for (const std::string& sublayer : sublayers)
        norms_.push_back(std::make_unique<LayerNorm>(*this, sublayer + "_norm", options.d_model, options.norm_eps));
}

Stream Layer::open(const Variable& x, NormPlace norm, const LayerNorm* first) {
    if (norm == NormPlace::post || first == nullptr) return {x, x};
    return {x, first->forward(x)};
}

const LayerNorm* Layer::norm_behind(std::size_t i, const LayerNorm* next) const {
    if (options_.norm == NormPlace::post) return norms_[i].get();
    return i + 1 < norms_.size() ? norms_[i + 1].get() : next;
}

Stream Layer::join(const Stream& stream, const Variable& output, std::size_t i, const LayerNorm* next) const {
    const Dropout drop = dropout(options_.dropout, sublayers_[i] + "_dropout");
    const bool pre = options_.norm == NormPlace::pre;
    const LayerNorm* norm = norm_behind(i, next);
    if (norm == nullptr) {
        const InModule in_module(name());
        const Variable sum = ops::residual(stream.sum, output, drop);
        return {sum, sum};
    }
    const ops::ResidualNorm joined = norm->after_residual(stream.sum, output, drop);
    return {pre ? joined.sum : joined.normalised, joined.normalised};
}

// ---- layers

EncoderLayer::EncoderLayer(Module& parent, std::string_view name, const TransformerOptions& options)
    : Layer(parent, name, options, {"self_attention", "feed_forward"}),
      self_attention_(*this, "self_attention", options_),
      feed_forward_(*this, "feed_forward", options_.d_model, options_.d_ff, options_.activation, options_.bias,
                    *options_.ffn_dropout) {}

Stream EncoderLayer::forward(const Stream& stream, const Spans& spans, const LayerNorm* next, Tensor* weights) const {
    const Stream middle = join(stream, self_attention_.forward(stream.input, spans, {.weights = weights}), 0, next);
    return join(middle, feed_forward_.forward(middle.input), 1, next);
}

DecoderLayer::DecoderLayer(Module& parent, std::string_view name, const TransformerOptions& options)
    : Layer(parent, name, options, {"self_attention", "cross_attention", "feed_forward"}),
      self_attention_(*this, "self_attention", options_),
      cross_attention_(*this, "cross_attention", options_),
      feed_forward_(*this, "feed_forward", options_.d_model, options_.d_ff, options_.activation, options_.bias,
                    *options_.ffn_dropout) {}

Stream DecoderLayer::forward(const Stream& stream, const Spans& spans, const Variable& memory, const Spans& memory_spans,
                             const LayerNorm* next, Tensor* self_weights, Tensor* cross_weights) const {
    const AttentionCall self{.causal = true, .weights = self_weights};
    const Stream read = join(stream, self_attention_.forward(stream.input, spans, self), 0, next);
    const AttentionCall cross{.weights = cross_weights};
    const Stream asked = join(read, cross_attention_.forward(read.input, spans, memory, memory_spans, cross), 1, next);
    return join(asked, feed_forward_.forward(asked.input), 2, next);
}

Stream DecoderLayer::step(const Stream& stream, DecoderCache& cache, std::int64_t layer, const LayerNorm* next) const {
    const Stream read = join(stream, self_attention_.step(stream.input, cache, layer), 0, next);
    const Stream asked = join(read, cross_attention_.step(read.input, cache, layer), 1, next);
    return join(asked, feed_forward_.forward(asked.input), 2, next);
}

void DecoderLayer::step(FewRows& stream, DecoderCache& cache, std::int64_t layer, const LayerNorm* next) const {
    self_attention_.step(stream, cache, layer, norm_behind(0, next));
    cross_attention_.step(stream, cache, layer, norm_behind(1, next));
    feed_forward_.step(stream, norm_behind(2, next));
}

}  // namespace heddle::nn
