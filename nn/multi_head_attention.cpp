#include "nn/multi_head_attention.h"

#include <algorithm>
#include <bit>

#include "core/format.h"
#include "core/storage.h"
#include "kernels/attention/alibi.h"
#include "kernels/rotary/rotary.h"
#include "nn/joined_linear.h"

namespace heddle::nn {
namespace {

TransformerOptions own_options(const TransformerOptions& options) {
    TransformerOptions all = options.with_defaults();
    all.attention_dropout = options.attention_dropout.value_or(0);
    return all;
}

ops::AttentionArguments op_options(const TransformerOptions& options, const AttentionCall& call, const DropoutMask& dropout) {
    ops::AttentionArguments result;
    result.heads = options.heads;
    result.key_heads = *options.key_heads;
    result.causal = call.causal;
    result.mask = call.mask;
    result.bias = call.bias;
    result.dropout = dropout;
    result.weights = call.weights;
    return result;
}

std::shared_ptr<const KeptBias> bias_of(const TransformerOptions& options, KeptBias::Make make) {
    return options.positions == Positions::alibi ? KeptBias::shared(make, options.heads) : nullptr;
}

}  // namespace

std::shared_ptr<const KeptBias> KeptBias::shared(Make make, std::int64_t heads) {
    static std::mutex mutex;
    static std::vector<std::weak_ptr<const KeptBias>> all;
    const std::lock_guard lock(mutex);
    std::erase_if(all, [](const auto& each) { return each.expired(); });
    for (const auto& each : all)
        if (auto kept = each.lock(); kept != nullptr && kept->make_ == make && kept->heads_ == heads) return kept;
    auto made = std::make_shared<const KeptBias>(make, heads);
    all.push_back(made);
    return made;
}

Tensor KeptBias::of(std::int64_t tokens, DType dtype, Device device) const {
    const DType wanted = dtype == DType::bf16 ? DType::f32 : dtype;
    const auto of_this_kind = [&](const Tensor& each) { return each.dtype() == wanted && each.device() == device; };
    const auto long_enough = [&](const Tensor& each) { return of_this_kind(each) && each.cols() >= tokens; };
    {
        const std::lock_guard lock(mutex_);
        if (const auto found = std::ranges::find_if(kept_, long_enough); found != kept_.end()) return *found;
    }
    constexpr std::int64_t least = 32;
    const auto time = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max(tokens, least))));
    const LastingMemory lasting;  // a batch's arena may be in use
    // Without the lock: a thread that waited for it could be one that this computation needs.
    Tensor made = make_(heads_, time, wanted).to(device);
    const std::lock_guard lock(mutex_);
    if (const auto found = std::ranges::find_if(kept_, long_enough); found != kept_.end()) return *found;
    if (device == Device::cpu) std::erase_if(kept_, of_this_kind);
    return kept_.emplace_back(std::move(made));
}

// ---- self-attention

SelfAttention::SelfAttention(Module& parent, std::string_view name, const TransformerOptions& options)
    : Module(parent, name),
      options_(own_options(options)),
      width_(options_.heads * *options_.head_dim),
      key_width_(*options_.key_heads * *options_.head_dim),
      sentence_bias_(bias_of(options_, kernels::alibi_bias)),
      newest_bias_(bias_of(options_, kernels::alibi_cached_bias)),
      projection_(*this, "query_key_value", options.d_model,
                  std::vector<LinearPart>{{"query", width_}, {"key", key_width_}, {"value", key_width_}},
                  *options_.attention_bias),
      output_(*this, "output", width_, options_.d_model, *options_.attention_bias) {}

Variable SelfAttention::project(const Variable& x, const Spans& spans, std::int64_t first_position, Where where) const {
    const Variable qkv = projection_.forward(x, where);
    if (options_.positions != Positions::rotary) return qkv;
    return ops::rotary(qkv, spans, *options_.head_dim, width_ + key_width_, {.first_position = first_position}, where);
}

Variable SelfAttention::forward(const Variable& x, const Spans& spans, const AttentionCall& call, Where where) const {
    const InModule in_module(name());
    const Variable qkv = project(x, spans, 0, where);
    const ops::ColumnsOf query(qkv, 0, width_);
    const ops::ColumnsOf key(qkv, width_, key_width_);
    const ops::ColumnsOf value(qkv, width_ + key_width_, key_width_);
    auto options = op_options(options_, call, dropout(*options_.attention_dropout, "dropout"));
    if (options_.positions == Positions::alibi) {
        check(!call.bias.defined(), "self-attention {}: its positions are a bias; it cannot have another", this->name());
        options.bias = Variable(sentence_bias_->of(spans.longest(), qkv.dtype(), qkv.device()));
    }
    return output_.forward(ops::attention(query, key, value, spans, spans, options, where), where);
}

Variable SelfAttention::step(const Variable& x, DecoderCache& cache, std::int64_t layer, Where where) const {
    const device::Growth growth = cache.position_growth();
    Tensor qkv;
    if (growth.replays != nullptr && options_.positions == Positions::rotary)
        qkv = kernels::rotary(projection_.forward(x, where).value(), cache.rows(), {},
                              {.head_dim = *options_.head_dim,
                               .columns = width_ + key_width_,
                               .first_position = cache.position() - 1,
                               .growth = growth});
    else
        qkv = project(x, cache.rows(), cache.position() - 1, where).value();
    cache.store(layer, {qkv, width_, 2 * key_width_});
    kernels::CachedKeys keys = cache.keys(layer);
    keys.key_heads = *options_.key_heads;
    if (options_.positions == Positions::alibi) keys.bias = newest_bias_->of(cache.capacity(), qkv.dtype(), qkv.device());
    const Tensor attended = kernels::attention_cached({qkv, 0, width_}, keys, options_.heads);
    return output_.forward(Variable(attended), where);
}

void SelfAttention::expect_length(std::int64_t length) const {
    if (options_.positions == Positions::alibi) newest_bias_->of(length, dtype(), device());
}

// Keys and values are written directly to their place in the cache.
void SelfAttention::step(FewRows& stream, DecoderCache& cache, std::int64_t layer, const Norm* next) const {
    const Tensor query = stream.read(projection_, {}, cache.place(layer));
    kernels::CachedKeys keys = cache.keys(layer);
    keys.key_heads = *options_.key_heads;
    stream.add(kernels::attention_cached({query, 0, width_}, keys, options_.heads), output_, next);
}

// ---- cross-attention

CrossAttention::CrossAttention(Module& parent, std::string_view name, const TransformerOptions& options)
    : Module(parent, name),
      options_(own_options(options)),
      width_(options_.heads * *options_.head_dim),
      key_width_(*options_.key_heads * *options_.head_dim),
      query_(*this, "query", options_.d_model, width_, *options_.attention_bias),
      key_value_(*this, "key_value", options_.d_model, {"key", "value"}, key_width_, *options_.attention_bias),
      output_(*this, "output", width_, options_.d_model, *options_.attention_bias) {}

Variable CrossAttention::keys_values(const Variable& memory, Where where) const { return key_value_.forward(memory, where); }

Variable CrossAttention::forward(const Variable& x, const Spans& spans, const Variable& memory, const Spans& memory_spans,
                                 const AttentionCall& call, Where where) const {
    if (const auto joined = JoinedMemory::columns(key_value_, memory))
        return attend(x, *joined, spans, memory_spans, call, where);
    return attend(x, keys_values(memory, where), spans, memory_spans, call, where);
}

// The hypotheses of a sentence are the rows of one span, which attend to its memory together.
Variable CrossAttention::step(const Variable& x, const DecoderCache& cache, std::int64_t layer, Where where) const {
    return attend(x, Variable(cache.memory(layer)), cache.groups(), cache.memory_spans(), {}, where);
}

void CrossAttention::step(FewRows& stream, const DecoderCache& cache, std::int64_t layer, const Norm* next) const {
    const Variable query(stream.read(query_));
    const Variable memory(cache.memory(layer));
    const auto options = op_options(options_, {}, {});
    const Variable attended =
        ops::attention(ops::ColumnsOf(query, 0, width_), ops::ColumnsOf(memory, 0, key_width_),
                       ops::ColumnsOf(memory, key_width_, key_width_), cache.groups(), cache.memory_spans(), options);
    stream.add(attended.value(), output_, next);
}

Variable CrossAttention::attend(const Variable& x, const ops::ColumnsOf& keys_values, const Spans& spans,
                                const Spans& memory_spans, const AttentionCall& call, Where where) const {
    const InModule in_module(name());
    const Variable query = query_.forward(x, where);
    const ops::ColumnsOf key(keys_values.base, keys_values.begin, key_width_);
    const ops::ColumnsOf value(keys_values.base, keys_values.begin + key_width_, key_width_);
    const auto options = op_options(options_, call, dropout(*options_.attention_dropout, "dropout"));
    return output_.forward(ops::attention(query, key, value, spans, memory_spans, options, where), where);
}

}  // namespace heddle::nn
