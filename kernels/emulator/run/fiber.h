// Fibers: stacks that one CPU thread switches between in user space. A switch saves the callee-saved registers.
//
// AddressSanitizer and ThreadSanitizer, if present, are notified of every switch.
#pragma once

#include <cstddef>

namespace heddle::emulator {

struct alignas(64) Fiber {
    void* stack_pointer = nullptr;
    std::byte* stack = nullptr;  ///< lowest byte, above a guard. Null: the CPU thread's own stack
    std::size_t stack_bytes = 0;
    const void* lowest = nullptr;  ///< the stack's bounds for AddressSanitizer
    std::size_t size = 0;
    void* race_context = nullptr;  ///< ThreadSanitizer's
    void* fake_stack = nullptr;    ///< AddressSanitizer's
};

/// All stacks are in one address range.
struct Range {
    const std::byte* begin;
    const std::byte* end;
    bool holds(const void* address) const { return address >= begin && address < end; }
};
const Range& fiber_stacks();
/// The most stacks of a process: each needs two mappings (stack and guard) of the 65,530 that Linux allows.
inline constexpr std::size_t kMostFibers = 30'000;

/// Makes `own` the fiber of the calling CPU thread itself.
void become(Fiber& own);
/// Makes the next switch to the fiber call entry(), which never returns. Allocates a stack if the fiber has none, and discards
/// what ran on it before. False if no stack is left.
bool prepare(Fiber& fiber, void (*entry)());
void switch_fiber(Fiber& from, Fiber& to);
inline void prefetch_lines(const void* start, int count) {
    for (int line = 0; line < count; ++line) __builtin_prefetch(static_cast<const std::byte*>(start) + line * 64, 1);
}
/// Must be called first in entry().
void entered();
/// Whether each kernel thread needs its own fiber, because ThreadSanitizer treats fibers as threads.
bool fibers_are_threads();

/// Tells ThreadSanitizer that the running fiber releases (acquires) at `object`.
void race_release(void* object);
void race_acquire(void* object);
/// For AddressSanitizer: poisons (unpoisons) these bytes. No effect without it.
void address_poison(const void* start, std::size_t bytes);
void address_unpoison(const void* start, std::size_t bytes);

/// From now on, faults of kernel threads on this CPU thread are reported as violations.
void catch_faults();
/// For the handler of a signal with this context: the kernel's thread goes on in out_of_time(). False outside of kernels.
bool stop_for_time(void* context);

}  // namespace heddle::emulator
