// Tells the trace (trace/trace.h) what kernels do. Called only if traces() holds; the running thread is the scheduler's current
// one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "kernels/emulator/run/action.h"
#include "kernels/emulator/run/checker_hooks.h"

namespace heddle::emulator {

struct Thread;
struct Warp;

namespace detail {
extern constinit std::atomic<bool> trace_is_on;
}
inline bool traces() {
    if constexpr (checker::kEnabled) return detail::trace_is_on.load(std::memory_order_relaxed);
    return false;
}

/// Traces a program of the front end, and writes it to the file when the program ends (trace/trace_file.h). The first `launches`
/// launches are kept.
void trace_program(const char* file, std::size_t launches);
void trace_launch_begins(const LaunchRequest& request);
/// Also called after a violation.
void trace_launch_ends();
/// A checked access, before it is made. `code`: the instruction's address, or null if `place` is known.
void trace_access(const void* address, std::size_t bytes, Action action, const void* code, Place place);
/// For a race: the access with which the reported one conflicts. `code` and `place` are as in trace_access().
struct EarlierAccess {
    std::uint64_t block = 0;  ///< linear number in the grid
    int thread = 0;
    const void* code = nullptr;
    Place place;
};
/// The running thread is about to be reported for this access, which is not traced otherwise. `earlier` is null except for a
/// race.
void trace_mistake(const void* address, std::size_t bytes, Action action, const void* code, Place place,
                   const EarlierAccess* earlier);
/// A block took its next piece of shared memory.
void trace_piece(int start, int bytes, const char* name);
void trace_commit();
void trace_copy_wait(int pending, Place place);
/// The lanes of the running thread's warp met. `what`: a literal. `values`: the warp, if its lanes exchanged values.
void trace_collective(unsigned lanes, const char* what, Place place, const Warp* values = nullptr);
/// A barrier of these threads is complete. They may be in any order.
void trace_barrier(const Thread* const* threads, std::size_t count, const char* what, Place place);

}  // namespace heddle::emulator
