// What decoding remembers between two steps.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/spans.h"
#include "core/tensor.h"

namespace heddle::nn {

/// Keys and values of all hypotheses of a batch, per decoder layer. Hypothesis h belongs to a sentence and has read `position()`
/// tokens. Its key of place t lies in row `rows[h][t]` of the layer's keys: hypotheses with a common beginning share these rows,
/// and a beam is reordered by rewriting the table, never by moving keys. Keys and values of the memory exist once per sentence.
class DecoderCache {
  public:
    /// Hypotheses now; at first one per sentence, in the order of the sentences.
    std::int64_t hypotheses() const { return static_cast<std::int64_t>(sentences_.size()); }
    /// Tokens that every hypothesis has read.
    std::int64_t position() const { return position_; }
    /// The most tokens that a hypothesis can read.
    std::int64_t capacity() const { return capacity_; }
    /// The sentence of each hypothesis.
    std::span<const std::int32_t> sentences() const { return sentences_; }

    /// Hypothesis i goes on from the former hypothesis parents[i]: a parent may occur several times (it branched), once or never
    /// (it ended). The number of hypotheses becomes that of `parents`. Error when a parent does not exist.
    void reorder(std::span<const std::int32_t> parents);

  private:
    friend class Transformer;

    std::int64_t position_ = 0;
    std::int64_t capacity_ = 0;
    std::vector<std::int32_t> sentences_;
};

}  // namespace heddle::nn
