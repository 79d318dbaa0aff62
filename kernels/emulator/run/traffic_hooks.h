// Tells the count of traffic (trace/traffic.h) what kernels do. Called only while traffic is counted, by the functions that
// access memory or wait for a kernel; the running thread is the scheduler's current one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "kernels/emulator/place.h"

namespace heddle::emulator {

struct Block;
struct Thread;

namespace detail {
extern constinit std::atomic<bool> traffic_is_counted;
}
/// Whether traffic is counted.
inline bool counts_traffic() { return detail::traffic_is_counted.load(std::memory_order_relaxed); }
/// The running thread accesses these bytes.
void note_traffic(const void* address, std::size_t bytes, const Place& place);
/// The lanes of the running thread's warp met.
void note_collective(unsigned lanes);
/// A barrier is complete.
void note_barrier(const Thread* const* threads, std::size_t count);
// The same for the costs of each line (trace/line_costs.cpp), where HEDDLE_EMULATOR_COST counts them. `code`: the access's
// address, or null if `place` is known.
void note_cost(const void* address, std::size_t bytes, const void* code, const Place& place);
void note_cost_of_collective(unsigned lanes);
void note_cost_of_barrier(const Thread* const* threads, std::size_t count);
void end_costs_of_block(const Block& block);

/// The block makes no more accesses: its records are added up and dropped.
void end_traffic_of_block(std::uint64_t launch, std::uint64_t block);

}  // namespace heddle::emulator
