#include "nn/transformer.h"

#include "core/check.h"
#include "core/format.h"

namespace heddle::nn {

OutputBias::OutputBias(Module& parent, std::string_view name, std::int64_t vocabulary, std::int32_t forbidden)
    : Module(parent, name) {
    Tensor values = Tensor::zeros({vocabulary}, dtype());
    if (forbidden >= 0) values.slice(forbidden, forbidden + 1).fill_(forbidden_bias);
    bias_ = add_parameter("bias", values);
}

Transformer::Transformer(const TransformerOptions& options, std::optional<std::uint64_t> seed, DType dtype)
    : Module(seed, dtype),
      options_(options.complete()),
      source_embedding_(*this, options_.one_embedding() ? "embedding" : "source_embedding", options_.source_vocabulary,
                        options_.d_model, options_.embedding_init, options_.scale_embeddings,
                        options_.zero_start && options_.one_embedding() ? begin_mark_id : -1),
      own_target_embedding_(options_.one_embedding() ? nullptr
                                                     : std::make_unique<Embedding>(
                                                           *this, "target_embedding", options_.target_vocabulary,
                                                           options_.d_model, options_.embedding_init, options_.scale_embeddings,
                                                           options_.zero_start ? begin_mark_id : -1)),
      source_positions_(options_.decoder_only
                            ? nullptr
                            : std::make_unique<PositionalEncoding>(*this, "source_positions", options_.positions,
                                                                   options_.position_table, options_.d_model)),
      target_positions_(*this, options_.decoder_only ? "positions" : "target_positions", options_.positions,
                        options_.position_table, options_.d_model),
      encoder_(options_.decoder_only ? nullptr : std::make_unique<Encoder>(*this, "encoder", options_)),
      decoder_(*this, "decoder", options_),
      own_output_(options_.output_is_tied() ? nullptr
                                            : std::make_unique<Linear>(*this, "output", options_.d_model,
                                                                       options_.target_vocabulary, *options_.output_bias)),
      tied_output_(options_.output_is_tied() && *options_.output_bias
                       ? std::make_unique<OutputBias>(*this, "output", options_.target_vocabulary,
                                                      options_.zero_start ? begin_mark_id : -1)
                       : nullptr) {}

const Embedding& Transformer::target_embedding() const {
    return own_target_embedding_ ? *own_target_embedding_ : source_embedding_;
}

const Variable& Transformer::output_weight() const { return own_output_ ? own_output_->weight() : target_embedding().weight(); }

const Variable& Transformer::output_bias() const {
    static const Variable none;
    if (own_output_) return own_output_->bias();
    return tied_output_ ? tied_output_->bias() : none;
}

Variable Transformer::encode(const Tensor& tokens, const Spans& spans, AttentionMaps* maps) const {
    return encode(Sentences{tokens, spans}, maps);
}

Variable Transformer::encode(const Sentences& source, AttentionMaps* maps) const {
    if (options_.decoder_only) return {};
    const DropoutMask drop = dropout(options_.dropout, "source_dropout");
    return encoder_->forward(source_embedding_.forward(source, *source_positions_, drop), source.spans, maps);
}

Variable Transformer::decode(const Tensor& target_in, const Spans& target_spans, const Variable& memory,
                             const Spans& memory_spans, AttentionMaps* maps) const {
    return decode(Sentences{target_in, target_spans}, memory, memory_spans, maps);
}

Variable Transformer::decode(const Sentences& target_in, const Variable& memory, const Spans& memory_spans,
                             AttentionMaps* maps) const {
    check(options_.decoder_only || target_in.spans.size() == memory_spans.size(),
          "decode: {} target sentences, but a memory of {} sentences", target_in.spans.size(), memory_spans.size());
    const DropoutMask drop = dropout(options_.dropout, "target_dropout");
    const Variable x = target_embedding().forward(target_in, target_positions_, drop);
    return decoder_.forward(x, target_in.spans, memory, memory_spans, maps);
}

Variable Transformer::loss(const Sentences& source, const Sentences& target_in, const Tensor& target_out,
                           const ops::LossOptions& options, Tensor* statistics) const {
    const Variable memory = encode(source);
    const Variable hidden = decode(target_in, memory, source.spans);
    return ops::linear_cross_entropy(hidden, output_weight(), output_bias(), target_out.to(device()), options, statistics);
}

Variable Transformer::generator(const Variable& hidden) const {
    const InModule in_module(own_output_ ? own_output_->name() : target_embedding().name());
    return ops::log_softmax(ops::linear(hidden, output_weight(), output_bias()));
}

Tensor Transformer::logits(const Tensor& hidden) const {
    const Tensor bias = output_bias().defined() ? output_bias().value() : Tensor();
    if (hidden.dtype() == DType::bf16) return kernels::linear_forward_f32(hidden, output_weight().value(), bias);
    return kernels::linear_forward(hidden, output_weight().value(), bias, &packed_output_);
}

DecoderCache Transformer::start_decoding(const Variable& memory, const Spans& memory_spans, std::int64_t hypotheses,
                                         std::int64_t length) const {
    const NoGrad no_grad;
    // Extends the table now, which a captured step could not do.
    if (!options_.longest_sentence()) target_positions_.table(length);
    decoder_.expect_length(length);
    if (options_.decoder_only) {
        const Tensor keys_values = Tensor::empty({0, 2 * *options_.key_heads * *options_.head_dim}, dtype(), device());
        return {*options_.decoder_layers, keys_values, memory_spans.size(), hypotheses, length};
    }
    return {decoder_.memory_keys_values(memory), memory_spans, hypotheses, length};
}

Tensor Transformer::step(const Tensor& tokens, DecoderCache& cache) const {
    const NoGrad no_grad;
    check_shape("step", "tokens", tokens, {cache.hypotheses()});
    const std::int64_t position = cache.position();
    cache.advance();
    const device::Growth growth = cache.position_growth();
    const Variable x = growth.replays != nullptr
                           ? Variable(target_embedding().step(tokens, cache.rows(), target_positions_, position, growth))
                           : target_embedding().forward(tokens, cache.rows(), target_positions_, {}, position);
    if (decoder_.takes_few_rows(x.value()))
        return decoder_.step_few_rows(x.value(), cache)
            .logits(output_weight().value(), output_bias().defined() ? output_bias().value() : Tensor());
    return logits(decoder_.step(x, cache).value());
}

}  // namespace heddle::nn
