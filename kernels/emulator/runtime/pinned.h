// Pinned host memory, which the device reads and writes after the call that queues the operation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kernels/emulator/runtime/streams.h"

namespace heddle::emulator {

/// cudaHostAlloc's memory, aligned to 4096, all 0xff; null if out of memory. Kernels reach it. `place` names the caller in
/// reports.
void* allocate_pinned(std::size_t bytes, unsigned flags, const std::string& place);
/// False if `start` is not the start of such memory.
bool release_pinned(void* start);
/// cudaHostRegister: the host's memory counts as pinned until it is unregistered. False if a part of it is pinned already.
bool register_pinned(void* start, std::size_t bytes, unsigned flags, const std::string& place);
bool unregister_pinned(void* start);
/// The flags that the memory was allocated or registered with; none if the first byte is not in pinned memory.
std::optional<unsigned> flags_of_pinned(const void* address);
/// Whether the first byte is in pinned memory.
bool is_pinned(const void* address);

void fill(const Rows& rows, int byte);
/// A checksum that changes when any byte does, except with probability 2^-64.
std::uint64_t sum_of(const Rows& rows);

/// Throws Violation if the operation's pinned memory was freed, or touched by the host since the operation was queued.
void check_pinned(const Operation& operation);

}  // namespace heddle::emulator
