#include "kernels/emulator/run/fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <stdexcept>

// The sanitizers' hooks; null in builds without them.
extern "C" {
[[gnu::weak]] void* __tsan_get_current_fiber();
[[gnu::weak]] void* __tsan_create_fiber(unsigned flags);
[[gnu::weak]] void __tsan_switch_to_fiber(void* fiber, unsigned flags);
[[gnu::weak]] void __tsan_acquire(void* object);
[[gnu::weak]] void __tsan_release(void* object);
[[gnu::weak]] void __sanitizer_start_switch_fiber(void** fake_stack, const void* lowest, std::size_t bytes);
[[gnu::weak]] void __sanitizer_finish_switch_fiber(void* fake_stack, const void** lowest, std::size_t* bytes);
[[gnu::weak]] void __asan_poison_memory_region(const volatile void* start, std::size_t bytes);
[[gnu::weak]] void __asan_unpoison_memory_region(const volatile void* start, std::size_t bytes);
}

// heddle_fiber_switch(void** save, void* to): pushes the callee-saved registers (System V ABI, AAPCS64), saves the stack pointer,
// and restores those of the other stack. A new fiber's first switch returns to heddle_fiber_start, with the function in r12
// (x19). A debugger's backtrace ends there (return address undefined).
extern "C" void heddle_fiber_switch(void** save, void* to);
extern "C" void heddle_fiber_start();
#if defined(__x86_64__)
asm(R"(
.text
.p2align 4
.globl heddle_fiber_switch
.type heddle_fiber_switch,@function
heddle_fiber_switch:
  .cfi_startproc
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .cfi_endproc
.size heddle_fiber_switch, .-heddle_fiber_switch
.globl heddle_fiber_start
.type heddle_fiber_start,@function
heddle_fiber_start:
  .cfi_startproc
  .cfi_undefined rip
  xorl %ebp, %ebp
  call *%r12
  ud2
  .cfi_endproc
.size heddle_fiber_start, .-heddle_fiber_start
)");
#elif defined(__aarch64__)
asm(R"(
.text
.p2align 4
.globl heddle_fiber_switch
.type heddle_fiber_switch,%function
heddle_fiber_switch:
  .cfi_startproc
  stp x29, x30, [sp, #-160]!
  stp x19, x20, [sp, #16]
  stp x21, x22, [sp, #32]
  stp x23, x24, [sp, #48]
  stp x25, x26, [sp, #64]
  stp x27, x28, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #16]
  ldp x21, x22, [sp, #32]
  ldp x23, x24, [sp, #48]
  ldp x25, x26, [sp, #64]
  ldp x27, x28, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  ldp x29, x30, [sp], #160
  ret
  .cfi_endproc
.size heddle_fiber_switch, .-heddle_fiber_switch
.globl heddle_fiber_start
.type heddle_fiber_start,%function
heddle_fiber_start:
  .cfi_startproc
  .cfi_undefined x30
  mov x29, xzr
  blr x19
  brk #1
  .cfi_endproc
.size heddle_fiber_start, .-heddle_fiber_start
)");
#else
#error "the emulator runs on x86-64 and aarch64"
#endif

namespace heddle::emulator {
namespace {

constexpr std::size_t kGuard = 64 * 1024;  // as large as a stack, so that a large local array cannot skip it

std::size_t stack_size() {
    static const std::size_t bytes = [] {
        const bool sanitized = __sanitizer_start_switch_fiber != nullptr || __tsan_create_fiber != nullptr;
        std::size_t wanted = sanitized ? 512 * 1024 : 64 * 1024;
        if (const char* text = std::getenv("HEDDLE_EMULATOR_STACK")) wanted = std::strtoull(text, nullptr, 10);
        const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        if (wanted < 16 * 1024 || wanted > (std::size_t{1} << 30))
            throw std::runtime_error("HEDDLE_EMULATOR_STACK: wanted the bytes of a thread's stack, 16384 to 1073741824");
        return (wanted + page - 1) / page * page;
    }();
    return bytes;
}

// From one stack to the next: an odd number of pages, or their addresses would compete for few entries of the TLB.
std::size_t stride() {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t pages = (stack_size() + kGuard) / page;
    return (pages | 1) * page;
}

Range reserve_stacks() {
    const std::size_t bytes = kMostFibers * stride();
    void* start = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) throw std::runtime_error("emulator: no room for the stacks of kernels' threads");
    return {static_cast<std::byte*>(start), static_cast<std::byte*>(start) + bytes};
}

std::atomic<std::size_t> stacks_given{0};
thread_local constinit Fiber* left = nullptr;  // the fiber that the last switch came from

bool give_stack(Fiber& fiber) {
    const std::size_t number = stacks_given++;
    if (number >= kMostFibers) {
        --stacks_given;
        return false;
    }
    auto* const start = const_cast<std::byte*>(fiber_stacks().begin) + (number + 1) * stride() - stack_size();
    if (mprotect(start, stack_size(), PROT_READ | PROT_WRITE) != 0) return false;
    fiber.stack = start;
    // Stacks start at different offsets within a page, or their hottest lines would all map to the same cache sets.
    fiber.stack_bytes = stack_size() - number % 32 * 128;
    fiber.lowest = start;
    fiber.size = fiber.stack_bytes;
    return true;
}

}  // namespace

const Range& fiber_stacks() {
    static const Range range = reserve_stacks();
    return range;
}

void become(Fiber& own) {
    if (__tsan_get_current_fiber != nullptr) own.race_context = __tsan_get_current_fiber();
}

bool prepare(Fiber& fiber, void (*entry)()) {
    if (fiber.stack == nullptr && !give_stack(fiber)) return false;
    address_unpoison(fiber.stack, stack_size());
    fiber.fake_stack = nullptr;
    if (__tsan_create_fiber != nullptr && fiber.race_context == nullptr) fiber.race_context = __tsan_create_fiber(0);
#if defined(__x86_64__)
    auto** top = reinterpret_cast<void**>(fiber.stack + fiber.stack_bytes);
    *--top = nullptr;
    *--top = nullptr;  // heddle_fiber_start begins with a stack aligned to 16 bytes
    *--top = reinterpret_cast<void*>(heddle_fiber_start);
    *--top = nullptr;                              // rbp
    *--top = nullptr;                              // rbx
    *--top = reinterpret_cast<void*>(entry);       // r12
    for (int i = 0; i < 3; ++i) *--top = nullptr;  // r13, r14, r15
    fiber.stack_pointer = top;
#else
    auto** const saved = reinterpret_cast<void**>(fiber.stack + fiber.stack_bytes) - 20;  // as heddle_fiber_switch stores them
    std::fill_n(saved, 20, nullptr);
    saved[1] = reinterpret_cast<void*>(heddle_fiber_start);  // x30
    saved[2] = reinterpret_cast<void*>(entry);               // x19
    fiber.stack_pointer = saved;
#endif
    return true;
}

void entered() {
    if (__sanitizer_finish_switch_fiber != nullptr) __sanitizer_finish_switch_fiber(nullptr, &left->lowest, &left->size);
}

void switch_fiber(Fiber& from, Fiber& to) {
    left = &from;
    if (__tsan_switch_to_fiber != nullptr) __tsan_switch_to_fiber(to.race_context, 1);  // 1: a switch does not synchronise
    if (__sanitizer_start_switch_fiber != nullptr) __sanitizer_start_switch_fiber(&from.fake_stack, to.lowest, to.size);
    heddle_fiber_switch(&from.stack_pointer, to.stack_pointer);
    if (__sanitizer_finish_switch_fiber != nullptr) __sanitizer_finish_switch_fiber(from.fake_stack, &left->lowest, &left->size);
}

bool fibers_are_threads() { return __tsan_create_fiber != nullptr; }

void race_release(void* object) {
    if (__tsan_release != nullptr) __tsan_release(object);
}
void race_acquire(void* object) {
    if (__tsan_acquire != nullptr) __tsan_acquire(object);
}
void address_poison(const void* start, std::size_t bytes) {
    if (__asan_poison_memory_region != nullptr) __asan_poison_memory_region(start, bytes);
}
void address_unpoison(const void* start, std::size_t bytes) {
    if (__asan_unpoison_memory_region != nullptr) __asan_unpoison_memory_region(start, bytes);
}

}  // namespace heddle::emulator
