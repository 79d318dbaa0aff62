// For the functions of the emulator that a trace (trace.h) records. Each is called only if traces() holds; the running thread is
// the scheduler's current one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "kernels/emulator/run/action.h"
#include "kernels/emulator/run/checker_hooks.h"

namespace heddle::emulator {

struct Thread;

namespace detail {
extern constinit std::atomic<bool> trace_is_on;
}
inline bool traces() {
    if constexpr (checker::kEnabled) return detail::trace_is_on.load(std::memory_order_relaxed);
    return false;
}

void trace_launch_begins(const LaunchRequest& request);
/// Also called after a violation.
void trace_launch_ends();
/// A checked access, before it is made. `code`: the instruction's address, or null if `place` is known.
void trace_access(const void* address, std::size_t bytes, Action action, const void* code, Place place);
/// The running thread is about to be reported for this access, which is not traced otherwise. `earlier`: of a race, the access
/// that it conflicts with; its `code` and `place` are those of trace_access().
struct EarlierAccess {
    std::uint64_t block = 0;  ///< linear number in the grid
    int thread = 0;
    const void* code = nullptr;
    Place place;
};
void trace_mistake(const void* address, std::size_t bytes, Action action, const void* code, Place place,
                   const EarlierAccess* earlier);
/// A block took its next piece of shared memory.
void trace_piece(std::size_t number, int start, int bytes);
void trace_commit();
void trace_copy_wait(int pending, Place place);
/// The lanes of the running thread's warp met. `what`: a literal.
void trace_collective(unsigned lanes, const char* what, Place place);
/// A barrier is complete: these threads, of which those of a warp follow each other or not.
void trace_barrier(const Thread* const* threads, std::size_t count, const char* what, Place place);

}  // namespace heddle::emulator
