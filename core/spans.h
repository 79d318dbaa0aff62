// Where the sentences of a packed batch lie.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace heddle {

class Tensor;

/// Rows [start, start + length) of a [rows, cols] tensor belong to one sentence.
struct Span {
    std::int64_t start = 0;
    std::int64_t length = 0;

    friend bool operator==(const Span&, const Span&) = default;
};

/// The sentences of a batch in order. Spans ascend and do not overlap; rows between them belong to no sentence (padding, or
/// the zero tail of a batch with a capacity): every op that takes spans gives such rows zeros, outputs and gradients.
class Spans {
  public:
    Spans() = default;
    /// `rows` is the number of rows of the tensors that the spans describe. Error when a span leaves them or overlaps the one
    /// before.
    Spans(std::vector<Span> spans, std::int64_t rows);

    /// Sentences one after the other, without gaps.
    static Spans packed(std::span<const std::int64_t> lengths);
    /// A padded [batch, time] tensor seen as [batch * time] rows. Error when a length exceeds `time`.
    static Spans padded(std::span<const std::int64_t> lengths, std::int64_t time);

    std::int64_t size() const { return static_cast<std::int64_t>(spans_.size()); }
    std::int64_t rows() const { return rows_; }
    const Span& operator[](std::int64_t sentence) const { return spans_[static_cast<std::size_t>(sentence)]; }
    auto begin() const { return spans_.begin(); }
    auto end() const { return spans_.end(); }
    /// Rows that belong to a sentence.
    std::int64_t tokens() const { return tokens_; }
    std::int64_t longest() const { return longest_; }
    bool has_gaps() const { return tokens_ != rows_; }

    /// i32 [size, 2] on Device::cuda: start and length of each sentence. Uploaded when it is first asked for in the current
    /// stream, in its order, and then kept for this stream, for these spans and all their copies. Error when there are more than
    /// 2^31 - 1 rows.
    Tensor on_device() const;

    friend bool operator==(const Spans& a, const Spans& b) { return a.rows_ == b.rows_ && a.spans_ == b.spans_; }

  private:
    struct Uploaded;

    std::vector<Span> spans_;
    std::int64_t rows_ = 0;
    std::int64_t tokens_ = 0;
    std::int64_t longest_ = 0;
    std::shared_ptr<Uploaded> uploaded_;
};

}  // namespace heddle
