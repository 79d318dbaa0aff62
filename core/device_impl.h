// What the device gives to storage and launches alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace heddle::device::detail {

/// Memory on the device, null when it has too little left. The emulated device gives exactly `bytes` in the stream's order, so
/// that its checker sees every end; a GPU gives memory that any stream may use at once.
std::byte* allocate(std::int64_t bytes, void* stream);
/// Memory of exactly `bytes` in no stream's order, also while a stream is captured.
std::byte* allocate_for_capture(std::int64_t bytes, void* stream);
/// Gives either back: on the emulated device in the stream's order, on a GPU after all work.
void release(std::byte* block, void* stream);
/// For tests, before the first tensor lies there: memory for tensors on CUDA comes from these two instead, and each has its own,
/// of exactly its bytes.
void take_memory_from(std::byte* (*take)(std::int64_t bytes, void* stream), void (*give)(std::byte* block, void* stream));
/// "12.3 of 79.1 GiB are free"
std::string memory_left();
/// Counts one kernel launch.
void count_launch();

}  // namespace heddle::device::detail
