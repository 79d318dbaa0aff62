// What the device gives to storage and launches alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace heddle::device::detail {

/// Where device memory comes from, and how.
struct MemoryPolicy {
    /// `bytes` of memory for work in `stream`; null when too little is left.
    std::byte* (*take)(std::int64_t bytes, void* stream);
    /// The same, in no stream's order, also while a stream is captured.
    std::byte* (*take_for_capture)(std::int64_t bytes, void* stream);
    /// Gives either back; `stream` is the one it was taken for.
    void (*give)(std::byte* block, void* stream);
    /// Each tensor gets a block of exactly its size, and none is kept for the next one: a checker sees every end.
    bool exact;
};
/// The device's: on a GPU any stream may use a block at once, and blocks are kept; the emulated device is exact, in stream order.
const MemoryPolicy& memory_policy();
/// For tests, before the first tensor lies there: memory for tensors on CUDA comes from these two instead; `exact` as above.
void take_memory_from(std::byte* (*take)(std::int64_t bytes, void* stream), void (*give)(std::byte* block, void* stream),
                      bool exact = true);
/// "12.3 GB of 84.9 GB are free"
std::string memory_left();
/// Counts one kernel launch.
void count_launch();

}  // namespace heddle::device::detail
