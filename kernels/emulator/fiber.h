// Fibers: stacks that one CPU thread switches between by itself. A switch saves the registers that a function must keep.
//
// AddressSanitizer and ThreadSanitizer are told of every switch, when they are there.
#pragma once

#include <cstddef>

#if !(defined(__x86_64__) || defined(__aarch64__)) || !defined(__ELF__) || defined(HEDDLE_EMULATOR_UCONTEXT)
#include <ucontext.h>
#define HEDDLE_EMULATOR_USES_UCONTEXT 1
#endif

namespace heddle::emulator {

struct Fiber {
#if defined(HEDDLE_EMULATOR_USES_UCONTEXT)
    ucontext_t context;
#else
    void* stack_pointer = nullptr;
#endif
    std::byte* stack = nullptr;  ///< lowest byte; below it lies a guard. Null: the CPU thread's own stack
    std::size_t stack_bytes = 0;
    const void* lowest = nullptr;  ///< the stack's bounds as AddressSanitizer wants them
    std::size_t size = 0;
    void* race_context = nullptr;  ///< ThreadSanitizer's
    void* fake_stack = nullptr;    ///< AddressSanitizer's
};

/// All stacks lie in one range of addresses.
struct Range {
    const std::byte* begin;
    const std::byte* end;
    bool holds(const void* address) const { return address >= begin && address < end; }
};
const Range& fiber_stacks();
/// How many stacks a process can have: a mapping and a guard each, of the 65,530 that Linux grants.
inline constexpr std::size_t kMostFibers = 30'000;

/// The fiber that calls it for the first time is the CPU thread itself.
void become(Fiber& own);
/// The next switch to the fiber calls entry(), which never returns. Gives it a stack when it has none, and forgets what ran on it
/// before. False when there is no stack left.
bool prepare(Fiber& fiber, void (*entry)());
void switch_fiber(Fiber& from, Fiber& to);
/// Brings what a switch to the fiber touches first into the cache.
inline void prefetch_stack([[maybe_unused]] const Fiber& fiber) {
#if !defined(HEDDLE_EMULATOR_USES_UCONTEXT)
    for (int line = 0; line < 6; ++line) __builtin_prefetch(static_cast<const std::byte*>(fiber.stack_pointer) + line * 64, 1);
#endif
}
/// First thing in entry().
void entered();
/// Whether kernels' threads must each have a fiber of their own, because ThreadSanitizer takes fibers for threads.
bool fibers_are_threads();

/// The running fiber does what releases (acquires) memory at `object`, for ThreadSanitizer.
void race_release(void* object);
void race_acquire(void* object);
/// For AddressSanitizer: these bytes must not (may again) be touched. Nothing in a program without it.
void address_poison(const void* start, std::size_t bytes);
void address_unpoison(const void* start, std::size_t bytes);

/// From here on, faults of kernels' threads on the running CPU thread are violations.
void catch_faults();

}  // namespace heddle::emulator
