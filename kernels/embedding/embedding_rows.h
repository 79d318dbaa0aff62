// Positions in their sentences of the rows of a packed batch, for the kernels of the embedding.
#pragma once

#include "core/spans.h"
#include "core/tensor.h"
#include "kernels/device/cuda.h"

namespace heddle::kernels {

/// The spans of a batch in device memory.
struct SpanTable {
    const std::int32_t* spans;  // [sentences, 2]: start, length; ascending
    std::int32_t sentences;

    /// The place of `row` in its sentence, or -1 outside every span: a binary search, a few loads from the nearest cache.
    __device__ __forceinline__ std::int32_t place(std::int64_t row) const {
        std::int32_t begin = 0, end = sentences;  // the last span that starts at or before the row is in [begin - 1, end)
        while (begin < end) {
            const std::int32_t middle = (begin + end) / 2;
            if (spans[2 * middle] <= row)
                begin = middle + 1;
            else
                end = middle;
        }
        // Empty spans may start where the row's own span does; the search passes them, because starts ascend.
        for (std::int32_t at = begin - 1; at >= 0; --at) {
            if (row < std::int64_t{spans[2 * at]} + spans[2 * at + 1]) return static_cast<std::int32_t>(row - spans[2 * at]);
            if (spans[2 * at + 1] != 0) return -1;
        }
        return -1;
    }
};

inline SpanTable span_table(const Spans& spans, const Tensor& on_device) {
    return {spans.size() == 0 ? nullptr : on_device.data<std::int32_t>(), static_cast<std::int32_t>(spans.size())};
}

}  // namespace heddle::kernels
