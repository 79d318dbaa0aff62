// Zeros in the rows that no span covers, written by blocks of a kernel that is launched anyway: a launch of its own for each
// output would cost more than the zeros. For .cu files.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/spans.h"
#include "kernels/device/launch.h"
#include "kernels/device/number.h"
#include "kernels/device/vector.h"

namespace heddle::kernels {

/// One output whose rows between the spans become zero.
template <class T>
struct GapRows {
    T* data = nullptr;  // [rows, width] with a pitch; null: nothing to do
    std::int64_t pitch = 0;
    std::int64_t width = 0;
    const std::int32_t* spans = nullptr;  // [sentences, 2]: start, length
    std::int64_t rows = 0;
    bool vectors = false;  // rows may be written 16 bytes at a time
};

/// The work of the blocks that follow a kernel's own: block `first` + b looks at the rows [kRows b, kRows b + kRows) of each
/// output.
template <class T>
struct AttentionGaps {
    static constexpr int kRows = 128;
    GapRows<T> outputs[3];
    GapRows<device::Accumulator<T>> log_sum;
    std::int64_t sentences = 0;
    unsigned blocks = 0;
    unsigned first = 0;  // the number of the kernel's own blocks

    // Host code.

    /// Zeros between the spans in all `columns` that have a base, `width` columns from `data` on.
    template <class E>
    void add(GapRows<E>& to, E* data, std::int64_t pitch, std::int64_t width, const Spans& spans) {
        if (data == nullptr || !spans.has_gaps()) return;
        to = {data,         pitch,
              width,        spans.on_device().data<std::int32_t>(),
              spans.rows(), device::vectors_fit(data, pitch, device::kVector<E>) && width % device::kVector<E> == 0};
        sentences = spans.size();
        blocks = std::max(blocks, device::blocks_for(spans.rows(), kRows));
    }
    /// The grid of a kernel with `own` blocks that calls zero_gaps().
    unsigned grid(unsigned own) {
        first = own;
        return own + blocks;
    }
};

/// Whether no span holds `row`. Spans ascend, so the one that could is found by halving.
__device__ __forceinline__ bool in_gap(const std::int32_t* spans, std::int64_t sentences, std::int64_t row) {
    std::int64_t low = 0, high = sentences;  // spans before `low` start at or before the row, those from `high` on behind it
    while (low < high) {
        const std::int64_t middle = (low + high) / 2;
        if (spans[2 * middle] <= row)
            low = middle + 1;
        else
            high = middle;
    }
    return low == 0 || row >= std::int64_t{spans[2 * low - 2]} + spans[2 * low - 1];
}

/// A warp looks at 32 rows, one a lane, and then writes those that lie in gaps together.
template <class E, int kRows>
__device__ __forceinline__ void zero_gap_rows(const GapRows<E>& to, std::int64_t sentences, std::int64_t first) {
    using device::kWarp, device::lane, device::warp;
    if (to.data == nullptr) return;
    constexpr int kN = device::kVector<E>;
    for (int r = warp() * kWarp; r < kRows; r += static_cast<int>(blockDim.x)) {
        const std::int64_t row = first + r + lane();
        unsigned gaps = __ballot_sync(device::kAllLanes, row < to.rows && in_gap(to.spans, sentences, row));
        for (int i = 0; gaps != 0; ++i, gaps >>= 1) {
            if ((gaps & 1) == 0) continue;
            E* const at = to.data + (first + r + i) * to.pitch;
            if (to.vectors)
                for (std::int64_t c = std::int64_t{lane()} * kN; c < to.width; c += kWarp * kN)
                    device::store_vector(at + c, device::Vector<E, kN>{});
            else
                for (std::int64_t c = lane(); c < to.width; c += kWarp) at[c] = E{};
        }
    }
}

/// First thing in a kernel: true for a block that is there for the gaps, and has filled its share.
template <class T>
__device__ __forceinline__ bool zero_gaps(const AttentionGaps<T>& gaps) {
    if (blockIdx.x < gaps.first) return false;
    const std::int64_t row = std::int64_t{blockIdx.x - gaps.first} * AttentionGaps<T>::kRows;
#pragma unroll 1
    for (int i = 0; i < 3; ++i) zero_gap_rows<T, AttentionGaps<T>::kRows>(gaps.outputs[i], gaps.sentences, row);
    zero_gap_rows<device::Accumulator<T>, AttentionGaps<T>::kRows>(gaps.log_sum, gaps.sentences, row);
    return true;
}

}  // namespace heddle::kernels
