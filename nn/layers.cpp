#include "nn/layers.h"

#include "autograd/checkpoint.h"
#include "autograd/observe.h"
#include "autograd/tape.h"
#include "core/format.h"
#include "kernels/few_rows/few_rows.h"
#include "nn/joined_linear.h"

namespace heddle::nn {
namespace {

/// A new place for a layer's attention weights, or null if they are not requested.
Tensor* place_for(std::vector<Tensor>* maps) { return maps == nullptr ? nullptr : &maps->emplace_back(); }

std::unique_ptr<Norm> final_norm(Module& stack, const TransformerOptions& options) {
    if (!*options.final_norm) return nullptr;
    return std::make_unique<Norm>(stack, "final_norm", options.d_model, options.norm_kind, options.norm_eps);
}

std::vector<std::string> sublayers_of_decoder(const TransformerOptions& options) {
    if (options.decoder_only) return {"self_attention", "feed_forward"};
    return {"self_attention", "cross_attention", "feed_forward"};
}

/// The stack's result; with pre-norm the last join has already applied the final norm.
Variable close(const Stream& stream, NormPlace norm, const Norm* final_norm) {
    if (norm == NormPlace::pre || final_norm == nullptr) return stream.input;
    return final_norm->forward(stream.input);
}

}  // namespace

// ---- feed-forward

Variable activated(const Variable& x, ops::Activation activation, Where where) {
    switch (activation) {
        case ops::Activation::relu: return ops::relu(x, where);
        case ops::Activation::gelu: return ops::gelu(x, false, where);
        case ops::Activation::gelu_tanh: return ops::gelu(x, true, where);
        case ops::Activation::silu: break;
    }
    return ops::silu(x, where);
}

FeedForward::FeedForward(Module& parent, std::string_view name, std::int64_t d_model, std::int64_t d_ff,
                         ops::Activation activation, bool bias, double dropout, bool gated)
    : Module(parent, name),
      activation_(activation),
      dropout_(dropout),
      gated_(gated),
      inner_(gated ? Linear(*this, "gate_and_inner", d_model, {"gate", "inner"}, d_ff, bias)
                   : Linear(*this, "inner", d_model, d_ff, bias)),
      outer_(*this, "outer", d_ff, d_model, bias) {}

Variable FeedForward::forward(const Variable& x, Where where) const {
    const InModule in_module(name());
    const DropoutMask drop = dropout(dropout_, "dropout");
    const bool records = will_record({x, inner_.weight(), inner_.bias(), outer_.weight(), outer_.bias()});
    const bool fused = drop.active() || records || x.value().device() == Device::cuda;
    if (fused && gated_)
        return ops::gated_feed_forward(x, inner_.weight(), inner_.bias(), outer_.weight(), outer_.bias(), activation_, drop,
                                       where);
    if (fused)
        return ops::feed_forward(x, inner_.weight(), inner_.bias(), outer_.weight(), outer_.bias(), activation_, drop, where);
    // On the CPU three separate ops compute the same: a decoding step has few rows, and the two Linears keep packed weights.
    const Variable u = inner_.forward(x, where);
    if (!gated_) return outer_.forward(activated(u, activation_, where), where);
    const std::int64_t d_ff = u.cols() / 2;
    const Variable gate = activated(ops::slice(u, 1, 0, d_ff, where), activation_, where);
    return outer_.forward(ops::mul(gate, ops::slice(u, 1, d_ff, 2 * d_ff, where), where), where);
}

void FeedForward::step(FewRows& stream, const Norm* next) const { stream.add(stream.read(inner_, activation_), outer_, next); }

// ---- residuals and norms

Layer::Layer(Module& parent, std::string_view name, const TransformerOptions& options, const std::vector<std::string>& sublayers)
    : Module(parent, name), options_(options.with_defaults()), sublayers_(sublayers) {
    for (const std::string& sublayer : sublayers)
        norms_.push_back(std::make_unique<Norm>(*this, sublayer + "_norm", options.d_model, options.norm_kind, options.norm_eps));
}

Stream Layer::open(const Variable& x, NormPlace norm, const Norm* first) {
    if (norm == NormPlace::post || first == nullptr) return {x, x};
    return {x, first->forward(x)};
}

const Norm* Layer::norm_behind(std::size_t i, const Norm* next) const {
    if (options_.norm == NormPlace::post) return norms_[i].get();
    return i + 1 < norms_.size() ? norms_[i + 1].get() : next;
}

Stream Layer::join(const Stream& stream, const Variable& output, std::size_t i, const Norm* next) const {
    const DropoutMask drop = dropout(options_.dropout, sublayers_[i] + "_dropout");
    const bool pre = options_.norm == NormPlace::pre;
    const Norm* norm = norm_behind(i, next);
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
                    *options_.ffn_dropout, options_.gated) {}

Stream EncoderLayer::forward(const Stream& stream, const Spans& spans, const Norm* next, Tensor* weights) const {
    const Stream middle = join(stream, self_attention_.forward(stream.input, spans, {.weights = weights}), 0, next);
    return join(middle, feed_forward_.forward(middle.input), 1, next);
}

DecoderLayer::DecoderLayer(Module& parent, std::string_view name, const TransformerOptions& options)
    : Layer(parent, name, options, sublayers_of_decoder(options)),
      self_attention_(*this, "self_attention", options_),
      cross_attention_(options_.decoder_only ? nullptr : std::make_unique<CrossAttention>(*this, "cross_attention", options_)),
      feed_forward_(*this, "feed_forward", options_.d_model, options_.d_ff, options_.activation, options_.bias,
                    *options_.ffn_dropout, options_.gated) {}

Stream DecoderLayer::forward(const Stream& stream, const Spans& spans, const Variable& memory, const Spans& memory_spans,
                             const Norm* next, Tensor* self_weights, Tensor* cross_weights) const {
    const AttentionCall self{.causal = true, .weights = self_weights};
    Stream read = join(stream, self_attention_.forward(stream.input, spans, self), 0, next);
    if (cross_attention_ != nullptr) {
        const AttentionCall cross{.weights = cross_weights};
        read = join(read, cross_attention_->forward(read.input, spans, memory, memory_spans, cross), 1, next);
    }
    return join(read, feed_forward_.forward(read.input), last_sublayer(), next);
}

Stream DecoderLayer::step(const Stream& stream, DecoderCache& cache, std::int64_t layer, const Norm* next) const {
    Stream read = join(stream, self_attention_.step(stream.input, cache, layer), 0, next);
    if (cross_attention_ != nullptr) read = join(read, cross_attention_->step(read.input, cache, layer), 1, next);
    return join(read, feed_forward_.forward(read.input), last_sublayer(), next);
}

void DecoderLayer::step(FewRows& stream, DecoderCache& cache, std::int64_t layer, const Norm* next) const {
    self_attention_.step(stream, cache, layer, norm_behind(0, next));
    if (cross_attention_ != nullptr) cross_attention_->step(stream, cache, layer, norm_behind(1, next));
    feed_forward_.step(stream, norm_behind(last_sublayer(), next));
}

// ---- encoder

Encoder::Encoder(Module& parent, std::string_view name, const TransformerOptions& options)
    : Module(parent, name), options_(options.with_defaults()) {
    for (std::int64_t i = 0; i < *options_.encoder_layers; ++i)
        layers_.push_back(std::make_unique<EncoderLayer>(*this, fmt::format("layers.{}", i), options_));
    final_norm_ = final_norm(*this, options_);
}

/// With pre-norm, the norm that follows the layers before `layer`.
const Norm* Encoder::norm_before(std::size_t layer) const {
    return layer < layers_.size() ? &layers_[layer]->first_norm() : final_norm_.get();
}

Variable Encoder::forward(const Variable& x, const Spans& spans, AttentionMaps* maps) const {
    const InModule in_module(name());
    if (options_.checkpoint_layers && maps == nullptr) return forward_checkpointed(x, spans);
    Stream stream = Layer::open(x, options_.norm, norm_before(0));
    std::vector<Variable> sums;
    for (std::size_t i = 0; i < layers_.size(); ++i) {
        stream = layers_[i]->forward(stream, spans, norm_before(i + 1), place_for(maps ? &maps->encoder : nullptr));
        if (options_.memory == MemoryFrom::layer) sums.push_back(stream.sum);
    }
    return result(std::move(sums), close(stream, options_.norm, final_norm_.get()));
}

Variable Encoder::result(std::vector<Variable> sums, const Variable& last) const {
    if (sums.size() < 2) return last;
    sums.pop_back();
    if (final_norm_)
        for (Variable& sum : sums) sum = final_norm_->forward(sum);
    sums.push_back(last);
    return ops::concat(sums, 1);
}

// A checkpoint passes on a single value, the residual sum, so each layer computes its first norm itself.
Variable Encoder::forward_checkpointed(Variable x, const Spans& spans) const {
    std::vector<Variable> sums;
    for (const auto& layer : layers_) {
        const auto run = [this, &layer = *layer, spans](std::span<const Variable> inputs) {
            return layer.forward(Layer::open(inputs[0], options_.norm, &layer.first_norm()), spans, nullptr).sum;
        };
        x = checkpoint(run, {x});
        if (options_.memory == MemoryFrom::layer) sums.push_back(x);
    }
    return result(std::move(sums), final_norm_ ? final_norm_->forward(x) : x);
}

// ---- decoder

Decoder::Decoder(Module& parent, std::string_view name, const TransformerOptions& options)
    : Module(parent, name), options_(options.with_defaults()) {
    for (std::int64_t i = 0; i < *options_.decoder_layers; ++i)
        layers_.push_back(std::make_unique<DecoderLayer>(*this, fmt::format("layers.{}", i), options_));
    final_norm_ = final_norm(*this, options_);
}

const Norm* Decoder::norm_before(std::size_t layer) const {
    return layer < layers_.size() ? &layers_[layer]->first_norm() : final_norm_.get();
}

Variable Decoder::forward(const Variable& x, const Spans& spans, const Variable& memory, const Spans& memory_spans,
                          AttentionMaps* maps) const {
    const InModule in_module(name());
    if (options_.checkpoint_layers && maps == nullptr) return forward_checkpointed(x, spans, memory, memory_spans);
    const JoinedMemory joined(*this, options_.memory == MemoryFrom::last ? memory : Variable());
    Stream stream = Layer::open(x, options_.norm, norm_before(0));
    for (std::size_t i = 0; i < layers_.size(); ++i) {
        Tensor* self = place_for(maps ? &maps->decoder : nullptr);
        Tensor* cross = place_for(maps != nullptr && !options_.decoder_only ? &maps->cross : nullptr);
        stream = layers_[i]->forward(stream, spans, memory_of(i, memory), memory_spans, norm_before(i + 1), self, cross);
    }
    return close(stream, options_.norm, final_norm_.get());
}

Variable Decoder::forward_checkpointed(Variable x, const Spans& spans, const Variable& memory, const Spans& memory_spans) const {
    for (std::size_t i = 0; i < layers_.size(); ++i) {
        const auto run = [this, &layer = *layers_[i], spans, memory_spans](std::span<const Variable> inputs) {
            const Stream stream = Layer::open(inputs[0], options_.norm, &layer.first_norm());
            return layer.forward(stream, spans, inputs.size() > 1 ? inputs[1] : Variable(), memory_spans, nullptr).sum;
        };
        std::vector<Variable> inputs = {x};
        if (!options_.decoder_only) inputs.push_back(memory_of(i, memory));
        x = checkpoint(run, inputs);
    }
    return final_norm_ ? final_norm_->forward(x) : x;
}

Variable Decoder::step(const Variable& x, DecoderCache& cache) const {
    Stream stream = Layer::open(x, options_.norm, norm_before(0));
    for (std::size_t i = 0; i < layers_.size(); ++i)
        stream = layers_[i]->step(stream, cache, static_cast<std::int64_t>(i), norm_before(i + 1));
    return close(stream, options_.norm, final_norm_.get());
}

bool Decoder::takes_few_rows(const Tensor& x) const {
    // With post-norm the stream already ends with a norm, so a final norm would be a second one.
    if (options_.norm_kind != NormKind::layer || options_.gated || are_in_attention(options_.positions)) return false;
    if (observed() || training() || (options_.norm == NormPlace::post && final_norm_ != nullptr)) return false;
    const auto fits = [](std::int64_t width) { return width % 32 == 0 && width <= kernels::kFewRowsWidest; };
    return fits(options_.d_ff) && fits(*options_.head_dim * options_.heads) && FewRows::takes(x);
}

FewRows Decoder::step_few_rows(const Tensor& x, DecoderCache& cache) const {
    const InModule in_module(name());
    const bool pre = options_.norm == NormPlace::pre;
    FewRows stream(x, pre ? norm_before(0) : nullptr, pre);
    for (std::size_t i = 0; i < layers_.size(); ++i)
        layers_[i]->step(stream, cache, static_cast<std::int64_t>(i), norm_before(i + 1));
    return stream;
}

void Decoder::expect_length(std::int64_t length) const {
    for (const auto& layer : layers_) layer->self_attention().expect_length(length);
}

std::vector<Tensor> Decoder::memory_keys_values(const Variable& memory) const {
    const InModule in_module(name());
    std::vector<Tensor> all;
    for (std::size_t i = 0; i < layers_.size(); ++i)
        if (const CrossAttention* cross = layers_[i]->cross_attention())
            all.push_back(cross->keys_values(memory_of(i, memory)).value());
    return all;
}

Variable Decoder::memory_of(std::size_t layer, const Variable& memory) const {
    if (options_.memory == MemoryFrom::last || layers_.size() < 2) return memory;  // undefined in a language model
    const auto begin = static_cast<std::int64_t>(layer) * options_.d_model;
    return ops::slice(memory, 1, begin, begin + options_.d_model);
}

}  // namespace heddle::nn
