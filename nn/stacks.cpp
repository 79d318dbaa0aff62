#include "nn/stacks.h"

#include "autograd/checkpoint.h"
#include "autograd/observe.h"
#include "autograd/tape.h"
#include "core/format.h"
#include "kernels/few_rows/few_rows.h"

namespace heddle::nn {
namespace {

/// A new place for a layer's attention weights, or null if they are not requested.
Tensor* place_for(std::vector<Tensor>* maps) { return maps == nullptr ? nullptr : &maps->emplace_back(); }

std::unique_ptr<LayerNorm> final_norm(Module& stack, const TransformerOptions& options) {
    if (!*options.final_norm) return nullptr;
    return std::make_unique<LayerNorm>(stack, "final_norm", options.d_model, options.norm_eps);
}

/// The stack's result; with pre-norm the last join has already applied the final norm.
Variable close(const Stream& stream, NormPlace norm, const LayerNorm* final_norm) {
    if (norm == NormPlace::pre || final_norm == nullptr) return stream.input;
    return final_norm->forward(stream.input);
}

}  // namespace

// ---- encoder

Encoder::Encoder(Module& parent, std::string_view name, const TransformerOptions& options)
    : Module(parent, name), options_(options.with_defaults()) {
    for (std::int64_t i = 0; i < *options_.encoder_layers; ++i)
        layers_.push_back(std::make_unique<EncoderLayer>(*this, fmt::format("layers.{}", i), options_));
    final_norm_ = final_norm(*this, options_);
}

/// With pre-norm, the norm that follows the layers before `layer`.
const LayerNorm* Encoder::norm_before(std::size_t layer) const {
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

const LayerNorm* Decoder::norm_before(std::size_t layer) const {
    return layer < layers_.size() ? &layers_[layer]->first_norm() : final_norm_.get();
}

Variable Decoder::forward(const Variable& x, const Spans& spans, const Variable& memory, const Spans& memory_spans,
                          AttentionMaps* maps) const {
    const InModule in_module(name());
    if (options_.checkpoint_layers && maps == nullptr) return forward_checkpointed(x, spans, memory, memory_spans);
    Stream stream = Layer::open(x, options_.norm, norm_before(0));
    for (std::size_t i = 0; i < layers_.size(); ++i) {
        Tensor* self = place_for(maps ? &maps->decoder : nullptr);
        Tensor* cross = place_for(maps ? &maps->cross : nullptr);
        stream = layers_[i]->forward(stream, spans, memory_of(i, memory), memory_spans, norm_before(i + 1), self, cross);
    }
    return close(stream, options_.norm, final_norm_.get());
}

Variable Decoder::forward_checkpointed(Variable x, const Spans& spans, const Variable& memory, const Spans& memory_spans) const {
    for (std::size_t i = 0; i < layers_.size(); ++i) {
        const auto run = [this, &layer = *layers_[i], spans, memory_spans](std::span<const Variable> inputs) {
            const Stream stream = Layer::open(inputs[0], options_.norm, &layer.first_norm());
            return layer.forward(stream, spans, inputs[1], memory_spans, nullptr).sum;
        };
        x = checkpoint(run, {x, memory_of(i, memory)});
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

std::vector<Tensor> Decoder::memory_keys_values(const Variable& memory) const {
    const InModule in_module(name());
    std::vector<Tensor> all;
    for (std::size_t i = 0; i < layers_.size(); ++i)
        all.push_back(layers_[i]->cross_attention().keys_values(memory_of(i, memory)).value());
    return all;
}

Variable Decoder::memory_of(std::size_t layer, const Variable& memory) const {
    if (options_.memory == MemoryFrom::last || layers_.size() < 2) return memory;
    const auto begin = static_cast<std::int64_t>(layer) * options_.d_model;
    return ops::slice(memory, 1, begin, begin + options_.d_model);
}

}  // namespace heddle::nn
