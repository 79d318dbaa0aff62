// Access patterns of one warp whose costs can be computed by hand, for emulator_trace_test.cpp.
#pragma once

#include <functional>

namespace heddle::emulator {

/// Launches a kernel: x and y are global memory, 256-byte aligned, of at least 4096 floats; x [i] = i.
using Pattern = std::function<void(const float* x, float* y)>;

/// y [t] = x [stride t + first]
Pattern strided_pattern(int stride, int first);
/// y [4 t ..] = x [4 t ..], 16 bytes per lane.
Pattern float4_pattern();
/// y [32 i + t] = x [32 t + i] for i in 0 .. 3
Pattern transposed_pattern();
/// y [t] = s [stride t] of shared memory that holds x.
Pattern banks_pattern(int stride);
/// y [t] = column `column` of a tile [32, 32] whose element (row, col) is at 32 row + (col ^ row).
Pattern swizzled_pattern(int column);
/// Lane t reads a vector of 4 from shared memory: s [stride t ..].
Pattern shared_float4_pattern(int stride);
/// Odd lanes read x [t], even ones x [64 + t]; then lanes below 8 read once more.
Pattern divergent_pattern();
/// 64 threads: x to shared memory, a barrier, and back in reverse.
Pattern reversed_pattern();
/// An asynchronous copy of 16 bytes per lane to shared memory after 128 unused floats, a wait, a barrier, then y [t] = s [t].
Pattern copied_pattern();
/// A shuffle by half of a warp, then a read by all lanes.
Pattern half_shuffle_pattern();
/// 64 threads exchange s [t] and s [63 - t] without a barrier between the reads and the writes.
Pattern racing_pattern();
/// Reads the destination of an asynchronous copy before waiting for it.
Pattern used_early_pattern();
/// The line of racing_pattern's exchange.
int racing_line();
/// The line of strided_pattern's access.
int strided_line();

}  // namespace heddle::emulator
