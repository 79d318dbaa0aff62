// What the scheduler, the runtime and instrumented code tell the checker: it keeps for each byte of device and shared memory whether it is
// allocated, written, in flight, and by whom it was last touched, and for each thread what happened before it. In a build without
// instrumentation (HEDDLE_EMULATOR_CHECK undefined) every function is empty.
//
// Threads are numbered within their block; calls about a thread are made on its fiber unless a parameter names it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/emulator/kernel.h"

namespace heddle::emulator::checker {

#if defined(HEDDLE_EMULATOR_CHECK)
inline constexpr bool kEnabled = true;
#else
inline constexpr bool kEnabled = false;
#endif

/// Blocks of a checked launch run one at a time (or one group of co-resident blocks at a time) on one CPU thread.
void launch_begins(const LaunchRequest& request);
void launch_ends();
/// `block` counts all blocks of the grid. The arena is the block's shared memory, poisoned and nowhere valid; its pieces are announced by
/// shared_piece when a thread first takes them, everything between is red zone.
void block_begins(std::uint64_t block, int threads, std::span<std::byte> arena);
void shared_piece(std::byte* start, std::size_t bytes);
void block_ends(std::uint64_t block);

/// The threads have met at a barrier of any kind (block, warp mask, named, cluster, grid): whatever each did before happened before
/// whatever each does from now on. Called once, before any of them goes on. (block, thread) pairs, for barriers across blocks.
struct ThreadId {
    std::uint64_t block;
    int thread;
};
void joined(std::span<const ThreadId> threads);
/// The running thread passed a fence. A fence before an atomic releases, an atomic before a fence acquires.
void fence(int scope);
/// The running thread made an atomic access (it orders nothing by itself).
void atomic_access(const void* address, std::size_t bytes, bool reads, bool writes, Place place);
/// A plain access of the running thread that is not seen by instrumentation: vector accesses, ldmatrix rows, copies at their landing.
void read(const void* address, std::size_t bytes, Place place);
void write(void* address, std::size_t bytes, Place place);

/// An asynchronous copy is issued: until its issuer waits for it, nobody may touch its destination, nor write its source. `copy` numbers
/// it. `landed`: its issuer has waited; the destination now counts as written by the issuer.
void copy_issued(std::uint64_t copy, void* to, const void* from, int bytes, int valid, Place place);
void copy_landed(std::uint64_t copy);

/// The runtime's side: allocations, releases, copies and fills of the host, in the stream's order.
void allocated(std::byte* start, std::size_t bytes);
void released(std::byte* start, std::size_t bytes);
void host_wrote(const void* start, std::size_t bytes);
/// The first of the bytes that was never written, or null.
const void* first_unwritten(const void* start, std::size_t bytes);

}  // namespace heddle::emulator::checker
