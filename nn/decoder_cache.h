// The state that decoding keeps between two steps.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/spans.h"
#include "core/tensor.h"
#include "kernels/attention/cached/attention_cached.h"
#include "kernels/cache_table/cache_table.h"

namespace heddle::nn {

/// Keys and values of all hypotheses of a batch, per decoder layer. A hypothesis belongs to a sentence and has read `position()`
/// tokens; it stores the row numbers of its tokens' keys and values. Hypotheses with a common prefix share rows, and a beam is
/// reordered by rewriting the row numbers, never by moving keys. Keys and values of the memory are stored once per sentence.
class DecoderCache {
  public:
    /// For sentences whose memories are at `memory_spans`, initially one hypothesis each: at most `hypotheses` at once and
    /// `capacity` tokens each. `memories` has, for each layer, keys and values of the memory side by side, [rows, 2 width].
    DecoderCache(std::vector<Tensor> memories, const Spans& memory_spans, std::int64_t hypotheses, std::int64_t capacity);
    /// The same for a language model, which has no memory: `layers` of keys and values side by side, as many columns as those of
    /// `like`, of its dtype and on its device; `sentences` texts.
    DecoderCache(std::int64_t layers, const Tensor& like, std::int64_t sentences, std::int64_t hypotheses, std::int64_t capacity);

    /// Number of hypotheses, initially one per sentence; always in the order of the sentences.
    std::int64_t hypotheses() const { return static_cast<std::int64_t>(sentences_.size()); }
    /// Number of tokens read by every hypothesis.
    std::int64_t position() const { return position_; }
    /// Maximum number of tokens per hypothesis.
    std::int64_t capacity() const { return capacity_; }
    /// The sentence of each hypothesis.
    std::span<const std::int32_t> sentences() const { return sentences_; }

    /// Hypothesis i continues the previous hypothesis parents[i]: a parent may occur several times (it branched), once or never
    /// (it ended). The number of hypotheses becomes that of `parents`. Error when a parent does not exist, the sentences would no
    /// longer be in order, or there are more hypotheses than the constructor allowed.
    void reorder(std::span<const std::int32_t> parents);
    /// reorder() with parents on the keys' device, i32 [hypotheses]: the host passes the sentence of each new hypothesis, and
    /// does not synchronise to check that its parent belongs to the same one. A parent that does not exist is an Error (on CUDA
    /// it traps the kernel).
    void reorder(const Tensor& parents, std::vector<std::int32_t> sentences);

    // ---- token steps that are captured once and replayed (core/graph.h), on CUDA

    /// Makes room for `steps` more tokens of every hypothesis. Whether captured steps are still right: nothing was moved, and no
    /// hypothesis gets longer than they can take.
    bool make_room(std::int64_t steps);
    /// The next `steps` steps, an even number, are captured: `replays` says how often they were replayed. Every one of them is
    /// preceded by a reorder() of as many hypotheses as there are.
    void start_capture(const kernels::Replays& replays, std::int64_t steps);
    void end_capture() { capture_.reset(); }
    /// The captured steps were run once more.
    void replayed(std::int64_t steps);

    // ---- called by the modules in each step

    /// Makes room for one more token of every hypothesis. Error when the cache is full.
    void advance();
    /// Stores the newest token's keys and values side by side, one row per hypothesis: [hypotheses, 2 width] columns.
    void store(std::int64_t layer, const Columns& keys_values);
    /// Where store() would write: from this row of these [rows, 2 width] on, for kernels that write there directly.
    struct Place {
        Tensor rows;
        std::int64_t first = 0;
        device::Growth growth = {};  ///< of `first`
    };
    Place place(std::int64_t layer) const;
    /// The growth of position(); without replays except while a step is captured.
    device::Growth position_growth() const;
    /// The keys and values of all tokens that each hypothesis has read.
    kernels::CachedKeys keys(std::int64_t layer) const;
    /// Keys and values of the memory side by side; undefined without one.
    const Tensor& memory(std::int64_t layer) const { return layers_[static_cast<std::size_t>(layer)].memory; }
    const Spans& memory_spans() const { return memory_spans_; }
    /// Spans of the hypotheses of each sentence.
    const Spans& groups() const { return groups_; }
    /// A span of one row for each hypothesis.
    const Spans& rows() const { return rows_; }

  private:
    struct Layer {
        Tensor memory;
        Tensor own;  // [rows, 2 width]
    };

    void add_layer(Tensor memory, const Tensor& like);
    void begin();
    void set_sentences(std::vector<std::int32_t> sentences);
    void set_parents(const Tensor& parents);
    device::Growth row_growth() const;

    struct Capture {
        const kernels::Replays* replays;
        std::int64_t steps;
    };

    std::vector<Layer> layers_;
    Spans memory_spans_;  // as many as there are sentences; empty ones without a memory
    Spans groups_;
    Spans rows_;
    std::int64_t most_hypotheses_;
    std::int64_t capacity_;
    std::int64_t position_ = 0;
    std::int64_t used_rows_ = 0;  // of each layer's own keys
    std::vector<std::int32_t> sentences_;
    std::vector<std::int64_t> lengths_;  // position_ for each hypothesis
    Tensor table_;                       // i32 [former hypotheses, capacity]: the row of each token's keys, on their device
    Tensor other_table_;                 // the captured steps' tables are these two in turn
    std::optional<Capture> capture_;
    std::int64_t longest_captured_ = 0;  // tokens that captured steps can take
    Tensor parents_;                     // i32 [hypotheses], indices into the table's rows; undefined: the table is up to date
};

}  // namespace heddle::nn
