// Attention of single queries over a cache, f32: the keys are found through the table.
//
// The bits are those of attention_forward_fast.
#include "kernels/attention/detail/attention_fast.h"
#include "kernels/attention/detail/attention_one_query.h"

namespace heddle::kernels {
namespace HEDDLE_LEVEL {

void attention_cached_fast(const AttentionView<float>& view, const std::int32_t* table, std::int64_t table_pitch,
                           const std::int64_t* lengths, std::int64_t first, std::int64_t end, HeadRows<float> output,
                           float* scratch) {
    for (std::int64_t row = first; row < end; ++row)
        for (std::int64_t head = 0; head < view.heads; ++head) {
            const std::int32_t* const slots = table + row * table_pitch;
            attend_one(
                view, head, view.query.at(row, head), lengths[row], [slots](std::int64_t k) { return slots[k]; },
                output.at(row, head), scratch, view.newest_bias(head, lengths[row]));
        }
}

}  // namespace HEDDLE_LEVEL
}  // namespace heddle::kernels
