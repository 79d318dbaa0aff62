// The positions of the sentences in a packed batch.
#pragma once

#include <compare>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include "core/tensor.h"

namespace heddle {

/// Rows [start, start + length) of a [rows, cols] tensor belong to one sentence.
struct Span {
    std::int64_t start = 0;
    std::int64_t length = 0;

    friend bool operator==(const Span&, const Span&) = default;
};

class Spans;
/// A table computed from spans; its size depends only on the capacity.
using MakeTable = std::vector<std::int32_t> (*)(const Spans& spans, std::int64_t parameter);

/// Identifies a table.
struct SpansTableKey {
    MakeTable make = nullptr;
    std::int64_t parameter = 0;

    friend bool operator==(const SpansTableKey&, const SpansTableKey&) = default;
};

/// A table that kernels read along with their spans.
struct SpansTable {
    SpansTableKey key;
    Tensor tensor;  ///< i32 [numbers] on Device::cuda
};

/// The fixed size that batches of different lengths are padded to.
struct SpansCapacity {
    std::int64_t rows = 0;
    std::int64_t sentences = 0;
    std::int64_t longest = 0;  ///< maximum length of a sentence

    friend auto operator<=>(const SpansCapacity&, const SpansCapacity&) = default;
};

/// The sentences of a batch in order. Spans ascend and do not overlap; rows between them belong to no sentence (padding, or the
/// unused tail of a batch with a capacity): every op that takes spans writes zeros to such rows of outputs and gradients.
class Spans {
  public:
    Spans() = default;
    /// `rows` is the number of rows of the tensors that the spans describe. Error if a span exceeds them or overlaps the one
    /// before.
    Spans(std::vector<Span> spans, std::int64_t rows);

    /// Sentences one after the other, without gaps.
    static Spans packed(std::span<const std::int64_t> lengths);
    static Spans packed(std::initializer_list<std::int64_t> lengths) {
        return packed(std::span<const std::int64_t>(lengths.begin(), lengths.size()));
    }
    /// `sentences` sentences of `length` rows each, without gaps.
    static Spans equal(std::int64_t sentences, std::int64_t length);
    /// A padded [batch, time] tensor seen as [batch * time] rows. Error when a length exceeds `time`.
    static Spans padded(std::span<const std::int64_t> lengths, std::int64_t time);
    /// The same sentences with room for others: `capacity.rows` rows, the last ones in no sentence, and `capacity.sentences`
    /// sentences, the last ones empty. The number of sentences, the longest length and whether there are gaps are reported for
    /// the capacity, so a captured step fits every batch of the same capacity. Error when they do not fit, or no empty sentence
    /// is left.
    Spans within(const SpansCapacity& capacity) const;

    /// Number of sentences, including empty ones.
    std::int64_t size() const { return static_cast<std::int64_t>(spans_.size()); }
    std::int64_t rows() const { return rows_; }
    const Span& operator[](std::int64_t sentence) const { return spans_[static_cast<std::size_t>(sentence)]; }
    auto begin() const { return spans_.begin(); }
    auto end() const { return spans_.end(); }
    /// Number of rows that belong to a sentence.
    std::int64_t tokens() const { return tokens_; }
    /// Length of the longest sentence; with a capacity, its limit.
    std::int64_t longest() const { return longest_; }
    bool has_gaps() const { return within_capacity_ || tokens_ != rows_; }
    bool within_capacity() const { return within_capacity_; }

    /// i32 [size, 2] on Device::cuda: start and length of each sentence, as a table().
    Tensor on_device() const;
    /// make(spans, parameter) as i32 [numbers] on Device::cuda. Computed and uploaded at the first call in the current stream,
    /// in its order, then cached for this stream and for all copies of these spans. Error if there are more than 2^31 - 1 rows.
    Tensor table(MakeTable make, std::int64_t parameter) const;
    /// The tables that the current stream has requested.
    std::vector<SpansTable> tables() const;
    /// Moves the current stream's tables, in the order of tables(), to the caller's memory of the same sizes. The caller is then
    /// responsible for their contents.
    void move_tables(const std::vector<Tensor>& memory) const;

    friend bool operator==(const Spans& a, const Spans& b) {
        return a.rows_ == b.rows_ && a.within_capacity_ == b.within_capacity_ && a.longest_ == b.longest_ && a.spans_ == b.spans_;
    }

  private:
    struct Uploaded;

    std::vector<Span> spans_;
    std::int64_t rows_ = 0;
    std::int64_t tokens_ = 0;
    std::int64_t longest_ = 0;
    bool within_capacity_ = false;
    std::shared_ptr<Uploaded> uploaded_;
};

}  // namespace heddle
