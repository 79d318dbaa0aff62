// Pinned host memory: what the device reads and writes later than the call that asks for it.
#pragma once

#include <cstdint>

#include "kernels/emulator/streams.h"

namespace heddle::emulator {

/// cudaHostAlloc's memory, aligned to 4096, all 0xff; null when there is none.
void* allocate_pinned(std::size_t bytes);
/// False when `start` is not the start of pinned memory.
bool release_pinned(void* start);
/// Whether the first byte lies in pinned memory.
bool is_pinned(const void* address);

void fill(const Rows& rows, int byte);
/// A sum that changes when any byte does, except for one chance in 2^64.
std::uint64_t sum_of(const Rows& rows);

/// Throws Violation when the operation's pinned memory was freed, or touched by the host since the operation was queued.
void check_pinned(const Operation& operation);

}  // namespace heddle::emulator
