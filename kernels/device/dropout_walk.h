// How a warp walks over a matrix whose elements are dropped in groups of eight, for kernels (dropout.cu and residual.cu).
#pragma once

#include "kernels/device/division.h"
#include "kernels/device/launch.h"
#include "kernels/device/random.h"
#include "kernels/device/vector.h"

namespace heddle::kernels {

/// Threads of a block of such a walk.
inline constexpr int kWalkThreads = 256;

/// A [count, cols] matrix, as a kernel's parameter.
struct WalkedRows {
    std::int64_t count, cols;
    device::Divisor groups;  // of eight elements in a row

    WalkedRows(std::int64_t rows, std::int64_t columns) : count(rows), cols(columns), groups((columns + 7) / 8) {}
};

/// Calls use(at, kept) for this lane's vectors of N neighbouring elements [at, at + N) of a [rows, cols] matrix; bit j of `kept`
/// says whether element at + j stays. N divides 8; rows are multiples of N long, and of 8 unless N is 1. All lanes of the warp
/// must call it.
///
/// One Philox call decides on eight elements: 16 bytes of bf16, but 32 of f32 and 64 of f64. If each lane moved the group it drew
/// for, the lanes of one access would lie 32 or 64 bytes apart and each line of memory be asked for several times. So a lane
/// draws for group l of the warp's 32, and then the warp takes the groups' vectors in the order of memory, asking the lane that
/// drew for the decisions:
///
///     vector   0   1 | 2   3 | ... 30  31 | 32  33 | ... 63          f32: two vectors a group
///     lane     0   1 | 2   3 | ... 30  31 |  0   1 | ... 31          who moves it
///     group    0   0 | 1   1 | ... 15  15 | 16  16 | ... 31          who drew for it
template <int N, class Use>
__device__ __forceinline__ void walk_dropped(const device::DropoutRule& rule, const WalkedRows& rows, Use use) {
    using namespace device;
    constexpr int kVectors = 8 / N;  // of a group
    const std::int64_t group = std::int64_t{blockIdx.x} * kWalkThreads + thread_in_block();
    const std::int64_t row = group / rows.groups, of_row = group - row * rows.groups.number;
    const bool mine = row < rows.count;
    const std::int64_t start = row * rows.cols + of_row * 8;
    const std::int64_t left = rows.cols - of_row * 8;
    unsigned drawn = mine ? kept_in_row(rule, row, of_row) : 0u;
    drawn |= static_cast<unsigned>(mine ? (left < 8 ? left : 8) : 0) << 8;  // and how many elements the group has
    if constexpr (kVectors == 1) {
        if (mine) use(start, drawn);
    } else {
#pragma unroll
        for (int v = 0; v < kVectors; ++v) {
            const int vector = v * kWarp + lane(), source = vector / kVectors, first = vector % kVectors * N;
            const std::int64_t at = __shfl_sync(kAllLanes, start, source) + first;
            const unsigned decisions = __shfl_sync(kAllLanes, drawn, source);
            if (first < static_cast<int>(decisions >> 8)) use(at, decisions >> first);
        }
    }
}

/// The launch of a kernel that walks over a [rows, cols] matrix; nothing is launched for an empty one.
inline device::LaunchConfig walk_config(std::int64_t rows, std::int64_t cols) {
    return {.grid = device::blocks_for(rows * ((cols + 7) / 8), kWalkThreads), .block = kWalkThreads};
}

/// Whether N elements at a time fit: whole groups in every row, and the start aligned.
template <class T>
bool walk_fits(const T* pointer, std::int64_t cols) {
    return cols % 8 == 0 && device::vectors_fit(pointer, cols, device::kVector<T>);
}

}  // namespace heddle::kernels
