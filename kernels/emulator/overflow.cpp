// A kernel's thread that needs more stack than it has runs into the guard below it. The signal is turned into a call on another
// stack, from where it is reported like every other violation.
#include <signal.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <ucontext.h>

#include "kernels/emulator/fiber.h"

namespace heddle::emulator {
namespace {

constexpr std::size_t kSpare = 256 * 1024;
thread_local constinit std::byte* spare = nullptr;  // the signal's stack, then the report's
using Report = void (*)();
thread_local constinit Report report = nullptr;
struct sigaction earlier;

void on_signal(int signal, siginfo_t* info, void* context) {
    if (report != nullptr && fiber_stacks().holds(info->si_addr)) {
#if defined(__x86_64__)
        auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
        registers[REG_RSP] = reinterpret_cast<greg_t>(spare + 2 * kSpare - 8);  // as after a call: 8 below a multiple of 16
        registers[REG_RIP] = reinterpret_cast<greg_t>(report);
        return;
#else
        static const char text[] =
            "emulator: a kernel's thread needs more stack than it has; HEDDLE_EMULATOR_STACK sets the bytes\n";
        fputs(text, stderr);
        std::abort();
#endif
    }
    if ((earlier.sa_flags & SA_SIGINFO) != 0 && earlier.sa_sigaction != nullptr) {
        earlier.sa_sigaction(signal, info, context);
    } else if (earlier.sa_handler == SIG_DFL || earlier.sa_handler == SIG_IGN) {
        sigaction(signal, &earlier, nullptr);  // the access is tried again, and then ends the process as it would have
    } else {
        earlier.sa_handler(signal);
    }
}

}  // namespace

void catch_overflows(void (*on_overflow)()) {
    fiber_stacks();  // so that the handler finds it made
    report = on_overflow;
    if (spare != nullptr) return;
    void* const memory = mmap(nullptr, 2 * kSpare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return;
    spare = static_cast<std::byte*>(memory);
    stack_t stack = {};
    stack.ss_sp = memory;
    stack.ss_size = kSpare;
    sigaltstack(&stack, nullptr);
    static const bool installed = [] {
        struct sigaction action = {};
        action.sa_sigaction = on_signal;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
        return sigaction(SIGSEGV, &action, &earlier) == 0;
    }();
    static_cast<void>(installed);
}

}  // namespace heddle::emulator
