#include "nn/multi_head_attention.h"

#include "core/format.h"

namespace heddle::nn {
namespace {

ops::AttentionArguments op_options(const AttentionOptions& options, const AttentionCall& call, const Dropout& dropout) {
    ops::AttentionArguments result;
    result.heads = options.heads;
    result.key_heads = options.key_heads;
    result.causal = call.causal;
    result.mask = call.mask;
    result.bias = call.bias;
    result.dropout = dropout;
    result.weights = call.weights;
    return result;
}

}  // namespace

std::int64_t AttentionOptions::width_of_head() const {
    check(heads > 0 && d_model > 0 && head_dim >= 0, "attention: d_model {}, {} heads, head_dim {}: wanted positive numbers",
          d_model, heads, head_dim);
    check(head_dim > 0 || d_model % heads == 0, "attention: d_model {} cannot be divided by {} heads; choose head_dim", d_model,
          heads);
    return head_dim > 0 ? head_dim : d_model / heads;
}

std::int64_t AttentionOptions::heads_of_keys() const {
    check(key_heads >= 0 && (key_heads == 0 || heads % key_heads == 0),
          "attention: {} heads cannot share {} heads of keys evenly", heads, key_heads);
    return key_heads > 0 ? key_heads : heads;
}

// ---- self-attention

SelfAttention::SelfAttention(Module& parent, std::string_view name, const AttentionOptions& options)
    : Module(parent, name),
      options_(options),
      width_(options.heads * options.width_of_head()),
      key_width_(options.heads_of_keys() * options.width_of_head()),
      projection_(*this, "query_key_value", options.d_model,
                  std::vector<LinearPart>{{"query", width_}, {"key", key_width_}, {"value", key_width_}}, options.bias),
      output_(*this, "output", width_, options.d_model, options.bias) {}

Variable SelfAttention::forward(const Variable& x, const Spans& spans, const AttentionCall& call, Where where) const {
    const InModule in_module(name());
    const Variable qkv = projection_.forward(x, where);
    const ops::ColumnsOf query(qkv, 0, width_);
    const ops::ColumnsOf key(qkv, width_, key_width_);
    const ops::ColumnsOf value(qkv, width_ + key_width_, key_width_);
    const auto options = op_options(options_, call, dropout(options_.dropout, "dropout"));
    return output_.forward(ops::attention(query, key, value, spans, spans, options, where), where);
}

Variable SelfAttention::step(const Variable& x, DecoderCache& cache, std::int64_t layer, Where where) const {
    const Tensor qkv = projection_.forward(x, where).value();
    cache.store(layer, {qkv, width_, 2 * key_width_});
    kernels::CachedKeys keys = cache.keys(layer);
    keys.key_heads = options_.key_heads;
    const Tensor attended = kernels::attention_cached({qkv, 0, width_}, keys, options_.heads);
    return output_.forward(Variable(attended), where);
}

// Keys and values go straight to their place in the cache.
void SelfAttention::step(FewRows& stream, DecoderCache& cache, std::int64_t layer, const LayerNorm* next) const {
    const Tensor query = stream.read(projection_, {}, cache.place(layer));
    kernels::CachedKeys keys = cache.keys(layer);
    keys.key_heads = options_.key_heads;
    stream.add(kernels::attention_cached({query, 0, width_}, keys, options_.heads), output_, next);
}

// ---- cross-attention

CrossAttention::CrossAttention(Module& parent, std::string_view name, const AttentionOptions& options)
    : Module(parent, name),
      options_(options),
      width_(options.heads * options.width_of_head()),
      key_width_(options.heads_of_keys() * options.width_of_head()),
      query_(*this, "query", options.d_model, width_, options.bias),
      key_value_(*this, "key_value", options.d_model, {"key", "value"}, key_width_, options.bias),
      output_(*this, "output", width_, options.d_model, options.bias) {}

Variable CrossAttention::keys_values(const Variable& memory, Where where) const { return key_value_.forward(memory, where); }

Variable CrossAttention::forward(const Variable& x, const Spans& spans, const Variable& memory, const Spans& memory_spans,
                                 const AttentionCall& call, Where where) const {
    return attend(x, keys_values(memory, where), spans, memory_spans, call, where);
}

// The hypotheses of a sentence are the rows of one span: they attend to its memory together.
Variable CrossAttention::step(const Variable& x, const DecoderCache& cache, std::int64_t layer, Where where) const {
    return attend(x, Variable(cache.memory(layer)), cache.groups(), cache.memory_spans(), {}, where);
}

void CrossAttention::step(FewRows& stream, const DecoderCache& cache, std::int64_t layer, const LayerNorm* next) const {
    const Variable query(stream.read(query_));
    const Variable memory(cache.memory(layer));
    const auto options = op_options(options_, {}, {});
    const Variable attended =
        ops::attention(ops::ColumnsOf(query, 0, width_), ops::ColumnsOf(memory, 0, key_width_),
                       ops::ColumnsOf(memory, key_width_, key_width_), cache.groups(), cache.memory_spans(), options);
    stream.add(attended.value(), output_, next);
}

Variable CrossAttention::attend(const Variable& x, const Variable& keys_values, const Spans& spans, const Spans& memory_spans,
                                const AttentionCall& call, Where where) const {
    const InModule in_module(name());
    const Variable query = query_.forward(x, where);
    const ops::ColumnsOf key(keys_values, 0, key_width_);
    const ops::ColumnsOf value(keys_values, key_width_, key_width_);
    const auto options = op_options(options_, call, dropout(options_.dropout, "dropout"));
    return output_.forward(ops::attention(query, key, value, spans, memory_spans, options, where), where);
}

}  // namespace heddle::nn
