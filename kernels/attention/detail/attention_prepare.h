// Checks of an attention call, its view for the loops, and its pieces for the threads. For the .cpp files of this folder.
#pragma once

#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/attention/attention.h"
#include "kernels/attention/detail/attention_view.h"

namespace heddle::kernels {

/// Error unless the arguments fit together; see attention_forward.
void check_attention(const Columns& query, const Columns& key, const Columns& value, const AttentionRules& rules);
/// What the log-sum-exp is kept in: f32 for bf16, else `dtype`.
DType log_sum_dtype(DType dtype);
/// The same for the arguments that backward has on top.
void check_attention_backward(const Columns& query, const Columns& key, const Columns& value, const AttentionRules& rules,
                              const AttentionResult& forward, const Tensor& d_output, const AttentionGradients& gradients);

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

}  // namespace heddle::kernels
