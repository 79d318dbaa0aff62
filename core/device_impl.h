// The device's interface for storage and launches only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace heddle::device::detail {

/// The source of device memory.
struct MemoryPolicy {
    /// Allocates `bytes` for work in `stream`; null if too little is left.
    std::byte* (*take)(std::int64_t bytes, void* stream);
    /// Allocates outside of any stream's order; allowed during a capture.
    std::byte* (*take_for_capture)(std::int64_t bytes, void* stream);
    /// Frees a block of either; `stream` is the one it was taken for.
    void (*give)(std::byte* block, void* stream);
    /// Each tensor gets a block of exactly its size, and none is reused, so that a checker detects every access beyond the end.
    bool exact;
};
/// The device's policy: on a GPU blocks are shared by streams and kept; the emulated device is exact, in stream order.
const MemoryPolicy& memory_policy();
/// For tests, before the first tensor is made there: replaces the source of memory for tensors on CUDA; `exact` as above.
void take_memory_from(std::byte* (*take)(std::int64_t bytes, void* stream), void (*give)(std::byte* block, void* stream),
                      bool exact = true);
/// "12.3 GB of 84.9 GB are free".
std::string memory_left();
/// Whether this thread captures a graph.
bool capturing();
/// Counts one kernel launch.
void count_launch();

}  // namespace heddle::device::detail
