// Kernels that load a row once and keep it on the chip for further passes. There are two ways, by the row's width:
//
//     narrow   a warp a row, the row in its lanes' registers: lane l holds the vectors l, l + 32, ...
//     wide     a block a row, the row in shared memory when it fits: thread t keeps the vectors t, t + 256, ...
//
// For .cu files: the numbers that the kernels' templates are made with, and the launches that fit them.
#pragma once

#include <cstdint>

#include "kernels/device/launch.h"
#include "kernels/device/reduce.h"

namespace heddle::device {

// ---- narrow rows

inline constexpr int kNarrowWarps = 4;

/// Vectors of N elements that a lane holds: 32 elements, so rows of up to 1024 columns; 8 elements where it must take them one by
/// one.
template <int N>
inline constexpr int kSteps = N == 1 ? 8 : 32 / N;
/// The columns of the widest narrow row.
template <int N>
inline constexpr int kNarrow = kSteps<N>* N* kWarp;

/// The row of this warp: warp w of a block takes row 4 blockIdx.x + w. The last block's may lie after the last row.
__device__ __forceinline__ std::int64_t narrow_row() { return std::int64_t{blockIdx.x} * kNarrowWarps + warp(); }

inline LaunchConfig narrow_rows(std::int64_t rows) {
    return {.grid = blocks_for(rows, kNarrowWarps), .block = kNarrowWarps * kWarp};
}

// ---- wide rows

inline constexpr int kWideThreads = 256;
inline constexpr std::int64_t kKeptBytes = 48 * 1024;  // of shared memory: four blocks of a chip's 227 KB

/// How wide rows are launched, and whether they fit: the kernel then takes one array of T for each row that is kept, behind the
/// scratch of a block reduction.
struct WideRows {
    bool fit = false;
    LaunchConfig config;
};
/// For `rows` rows of `cols` elements, of which a block keeps `kept`: 1 when a row of one tensor is read, 2 of two.
template <class T>
WideRows wide_rows(std::int64_t rows, std::int64_t cols, int kept) {
    const bool fit = cols * kept * static_cast<std::int64_t>(sizeof(T)) <= kKeptBytes;
    SharedSize shared;
    shared.take<Accumulator<T>>(kBlockReduce);
    for (int i = 0; fit && i < kept; ++i) shared.take<T>(static_cast<int>(cols));
    return {fit, {.grid = blocks_for(rows, 1), .block = kWideThreads, .shared = shared.bytes()}};
}

}  // namespace heddle::device
