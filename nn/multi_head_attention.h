// Multi-head attention: projections around ops::attention.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "autograd/ops.h"
#include "nn/decoder_cache.h"
#include "nn/few_rows.h"
#include "nn/linear.h"
#include "nn/transformer_options.h"

namespace heddle::nn {

/// Which positions may attend to which, in addition to the spans, and whether to return the weights.
struct AttentionCall {
    bool causal = false;
    Tensor mask = {};           ///< as ops::AttentionArguments::mask
    Variable bias = {};         ///< as ops::AttentionArguments::bias
    Tensor* weights = nullptr;  ///< as ops::AttentionArguments::weights
};

/// A bias of attention that is computed for a number of tokens and kept. A longer one takes its place; on a device both stay,
/// since a captured step may read the older one. Thread-safe.
class KeptBias {
  public:
    /// (heads, tokens, f32 or f64), from kernels/attention/alibi.h.
    using Make = Tensor (*)(std::int64_t, std::int64_t, DType);
    KeptBias(Make make, std::int64_t heads) : make_(make), heads_(heads) {}
    /// The one of all layers with so many heads, which lives as long as one of them.
    static std::shared_ptr<const KeptBias> shared(Make make, std::int64_t heads);

    /// For at least so many tokens, beside values of this dtype on this device.
    Tensor of(std::int64_t tokens, DType dtype, Device device) const;

  private:
    Make make_;
    std::int64_t heads_;
    mutable std::mutex mutex_;
    mutable std::vector<Tensor> kept_;
};

/// Queries, keys and values of one input: one [(heads + 2 key_heads) head_dim, d_model] projection whose column slices are q, k
/// and v, then attention, then `output` (paper, section 3.2.2). In files the slices are named query, key and value. Of the
/// options it reads d_model, heads, head_dim, key_heads, attention_bias (default: bias), attention_dropout (default here: none)
/// and whether positions are rotary (queries and keys are turned, and the cache holds the turned keys) or ALiBi (its bias is
/// added to the scores; a call cannot have another).
class SelfAttention : public Module {
  public:
    SelfAttention(Module& parent, std::string_view name, const TransformerOptions& options);

    std::string_view kind() const override { return "SelfAttention"; }
    /// x [rows, d_model]; result [rows, d_model].
    Variable forward(const Variable& x, const Spans& spans, const AttentionCall& call = {}, Where where = Where::current()) const;
    Variable operator()(const Variable& x, const Spans& spans, const AttentionCall& call = {},
                        Where where = Where::current()) const {
        return forward(x, spans, call, where);
    }
    /// One new row per hypothesis: its key and value go into the cache's `layer`; it attends to all positions so far.
    Variable step(const Variable& x, DecoderCache& cache, std::int64_t layer, Where where = Where::current()) const;
    /// Reads from the stream and adds to it; `next` is the norm that follows.
    void step(FewRows& stream, DecoderCache& cache, std::int64_t layer, const Norm* next) const;
    /// Before steps that are captured: computes what they read for so many tokens.
    void expect_length(std::int64_t length) const;

  private:
    /// Queries, keys and values side by side; the first row of each span has this position.
    Variable project(const Variable& x, const Spans& spans, std::int64_t first_position, Where where) const;

    TransformerOptions options_;  // with defaults
    std::int64_t width_;          // heads * head_dim
    std::int64_t key_width_;      // key_heads * head_dim
    // Null without ALiBi.
    std::shared_ptr<const KeptBias> sentence_bias_;  // [heads, time, time]
    std::shared_ptr<const KeptBias> newest_bias_;    // [heads, time], of the newest token
    Linear projection_;
    Linear output_;
};

/// Queries of x, keys and values of the memory: options and names as SelfAttention; key and value are one projection.
class CrossAttention : public Module {
  public:
    CrossAttention(Module& parent, std::string_view name, const TransformerOptions& options);

    std::string_view kind() const override { return "CrossAttention"; }
    /// x [rows, d_model], memory [rows', d_model]; result [rows, d_model].
    Variable forward(const Variable& x, const Spans& spans, const Variable& memory, const Spans& memory_spans,
                     const AttentionCall& call = {}, Where where = Where::current()) const;
    Variable operator()(const Variable& x, const Spans& spans, const Variable& memory, const Spans& memory_spans,
                        const AttentionCall& call = {}, Where where = Where::current()) const {
        return forward(x, spans, memory, memory_spans, call, where);
    }
    /// Keys and values of a memory side by side, [rows', 2 key_heads head_dim], computed once per sentence for all steps.
    Variable keys_values(const Variable& memory, Where where = Where::current()) const;
    /// One new row per hypothesis attends to the memory of its sentence.
    Variable step(const Variable& x, const DecoderCache& cache, std::int64_t layer, Where where = Where::current()) const;
    /// Reads from the stream and adds to it; `next` is the norm that follows.
    void step(FewRows& stream, const DecoderCache& cache, std::int64_t layer, const Norm* next) const;

  private:
    Variable attend(const Variable& x, const ops::ColumnsOf& keys_values, const Spans& spans, const Spans& memory_spans,
                    const AttentionCall& call, Where where) const;

    TransformerOptions options_;  // with defaults
    std::int64_t width_;
    std::int64_t key_width_;
    Linear query_;
    Linear key_value_;
    Linear output_;
};

}  // namespace heddle::nn
