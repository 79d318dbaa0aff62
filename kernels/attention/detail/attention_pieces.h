// Checks of an attention call, its view for the CPU loops, and the pieces that threads and CUDA blocks take.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "kernels/attention/attention.h"
#include "kernels/attention/detail/attention_view.h"

namespace heddle::kernels {

/// Error unless the arguments fit together; see attention_forward.
void check_attention(const Columns& query, const Columns& key, const Columns& value, const AttentionRules& rules);
/// The dtype of the log-sum-exp: f32 for bf16, else `dtype`.
DType log_sum_dtype(DType dtype);
/// The same for the arguments that backward has on top.
void check_attention_backward(const Columns& query, const Columns& key, const Columns& value, const AttentionRules& rules,
                              const AttentionResult& forward, const Tensor& d_output, const AttentionGradients& gradients);

/// The facts by which attention_variant() chooses.
AttentionCall attention_call(const Columns& query, const Columns& value, const AttentionRules& rules);

/// How many elements the mask's rows of one sentence lie behind those of the sentence before, and those of one head behind those
/// of the head before; 0: shared.
std::pair<std::int64_t, std::int64_t> mask_strides(const Tensor& mask);

/// The arguments as the loops see them. They must outlive the view.
template <class T>
AttentionView<T> view_attention(const Columns& query, const Columns& key, const Columns& value, const AttentionRules& rules);

template <class T>
HeadRows<const T> head_rows(const Columns& columns, std::int64_t heads) {
    if (!columns.base.defined()) return {};
    return {columns.data<T>(), columns.pitch(), columns.count / heads};
}
/// The same, to write.
template <class T>
HeadRows<T> mutable_head_rows(Columns columns, std::int64_t heads) {
    if (!columns.base.defined()) return {};
    return {columns.mutable_data<T>(), columns.pitch(), columns.count / heads};
}

/// Zeros in the columns of all rows that no span covers.
void zero_gaps(Columns columns, const Spans& spans);

/// All (sentence, head) items for so many heads, the longest first, cut into pieces of about the same work: the threads finish
/// together, whatever the lengths are.
class AttentionPieces {
  public:
    AttentionPieces(const AttentionRules& rules, std::int64_t heads, std::int64_t work_per_weight);
    std::int64_t size() const { return static_cast<std::int64_t>(ends_.size()); }
    std::span<const AttentionItem> operator[](std::int64_t piece) const;

  private:
    std::vector<AttentionItem> items_;
    std::vector<std::size_t> ends_;
};

/// The work list of the CUDA kernels: all tiles of `size` rows of the sentences, as i32 [tiles, 2] on the device: (sentence,
/// first row within it). Each tile has a row, so no block is started for nothing, however different the lengths are. The longest
/// sentence comes first and the last tile of a sentence before its first (which sees the fewest keys when causal): the longest
/// work starts first. Made and uploaded once per spans and size. For spans within a capacity the list is as long as any batch can
/// need; the last ones are tiles of an empty sentence.
Tensor attention_tiles(const Spans& spans, std::int64_t size);

}  // namespace heddle::kernels
