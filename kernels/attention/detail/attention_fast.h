// The vectorised f32 path, one build per x86-64 level.
#pragma once

#include "kernels/attention/detail/attention_view.h"
#include "kernels/level.h"

namespace heddle::kernels {

/// Queries of one block (they stand in the lanes) and keys of one tile.
inline constexpr std::int64_t kQueryBlock = 32;
inline constexpr std::int64_t kKeyTile = 64;

/// Up to a multiple of the widest vector (16 floats), which is also a multiple of every product tile's height.
[[gnu::always_inline]] inline std::int64_t padded(std::int64_t n) { return (n + 15) / 16 * 16; }

/// How many floats of scratch memory, aligned to 64 bytes, a call needs if its longest key span is `time`.
inline std::int64_t attention_forward_scratch(std::int64_t time, std::int64_t dk, std::int64_t dv) {
    return padded(time) * (padded(dk) + padded(dv)) + kQueryBlock * (2 * padded(dk) + padded(dv) + kKeyTile + 3);
}
inline std::int64_t attention_backward_scratch(std::int64_t time, std::int64_t dk, std::int64_t dv) {
    return 2 * padded(time) * (padded(dk) + padded(dv)) + kQueryBlock * (3 * (padded(dk) + padded(dv)) + 2 * kKeyTile + 2);
}

/// Output and log_sum [rows, heads] of `count` items.
HEDDLE_DECLARE_LEVELS(void attention_forward_fast(const AttentionView<float>& view, const AttentionItem* items,
                                                  std::int64_t count, HeadRows<float> output, float* log_sum, float* scratch))

/// Output rows [first, end) of attention with a cache: query row r sees the rows table[r * table_pitch + j] of view.key and
/// view.value, 0 <= j < lengths[r]. Its bits are those of attention without a cache.
HEDDLE_DECLARE_LEVELS(void attention_cached_fast(const AttentionView<float>& view, const std::int32_t* table,
                                                 std::int64_t table_pitch, const std::int64_t* lengths, std::int64_t first,
                                                 std::int64_t end, HeadRows<float> output, float* scratch))

inline std::int64_t attention_cached_scratch(std::int64_t dk, std::int64_t dv) { return padded(dk) + padded(dv) + kKeyTile; }

/// The gradients of `count` items.
HEDDLE_DECLARE_LEVELS(void attention_backward_fast(const AttentionView<float>& view, const AttentionBackwardView<float>& back,
                                                   const AttentionItem* items, std::int64_t count, float* scratch))

/// d_bias [queries, view.bias_pitch]: rows [first, first + queries) of one head of dB, up to kQueryBlock of them, from all
/// sentences. Takes padded(view.bias_pitch) * kQueryBlock floats of scratch memory more than attention_backward_scratch() says.
HEDDLE_DECLARE_LEVELS(void attention_bias_gradient_fast(const AttentionView<float>& view,
                                                        const AttentionBackwardView<float>& back, std::int64_t sentences,
                                                        std::int64_t bias_head, std::int64_t first, std::int64_t queries,
                                                        float* d_bias, float* scratch))

}  // namespace heddle::kernels
