// For the functions of the emulator that access memory for a kernel.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "kernels/emulator/place.h"

namespace heddle::emulator {

/// Whether traffic is counted (traffic.h).
extern constinit std::atomic<bool> counts_traffic;
/// The running thread accesses these bytes; those of shared memory do not count.
void note_traffic(const void* address, std::size_t bytes, const Place& place);
/// The block makes no more accesses: what was kept of it becomes a few sums.
void end_traffic_of_block(std::uint64_t launch, std::uint64_t block);

}  // namespace heddle::emulator
