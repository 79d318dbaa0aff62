// Handles signals of kernel threads: accesses to unmapped addresses, integer division by zero, stack overflow into the guard
// page, and the end of the run's time. The handler redirects the thread to a call on another stack, which reports it like any
// other violation.
#include <sys/mman.h>
#include <ucontext.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <utility>

#include "kernels/emulator/run/fiber.h"
#include "kernels/emulator/run/memory.h"
#include "kernels/emulator/run/report.h"
#include "kernels/emulator/run/run.h"
#include "kernels/emulator/run/scheduler.h"
#include "kernels/emulator/run/verdict.h"

namespace heddle::emulator {
namespace {

constexpr std::size_t kSpare = 256 * 1024;
thread_local constinit std::byte* spare = nullptr;  // the stack of the signal handler, then of the report

// The signal that report() describes.
struct Fault {
    int signal;
    const void* address;
    const void* code;
    bool without_address = false;
};
thread_local constinit Fault fault = {};
struct sigaction earlier[2];
constexpr int kSignals[2] = {SIGSEGV, SIGFPE};

[[noreturn]] void report() {
    if (fault.signal == 0) out_of_time(fault.code, {});
    const SourceLine line = source_line_of(fault.code);
    const auto refuse = [&](const char* kind, const std::string& what) {
        ViolationRecord about = mistake(kind, {}, what);
        about.file = line.file;
        about.line = line.line;
        violate(std::move(about));
    };
    if (fault.signal == SIGFPE) refuse("fault", "divides an integer by zero at " + line.text);
    // x86 tells no address for an instruction that wants a multiple of 16, nor for one that no address can be.
    if (fault.without_address)
        refuse("misaligned", "accesses 16 bytes or more at " + line.text + " at an address that is not a multiple of that");
    if (fiber_stacks().holds(fault.address))
        refuse("stack-overflow", "needs more stack than a thread has at " + line.text + "; HEDDLE_EMULATOR_STACK sets its bytes");
    char text[32];
    std::snprintf(text, sizeof text, "%p", fault.address);
    std::string what = "touches the address " + std::string(text) + " at " + line.text;
    what += is_device_memory(fault.address) ? ": " + describe(fault.address) : ", which is no memory of the device";
    refuse("out-of-bounds", what);
    __builtin_unreachable();
}

/// Lets the kernel's thread that the signal stopped go on with report(). False outside of kernels.
bool redirect(int signal, const void* address, [[maybe_unused]] void* context) {
    if (spare == nullptr || !in_a_kernel()) return false;
#if defined(__x86_64__) && defined(__linux__)
    auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    // Plus one byte, because place_of_code expects return addresses.
    fault = {signal, address, reinterpret_cast<const std::byte*>(registers[REG_RIP]) + 1};
    registers[REG_RSP] = reinterpret_cast<greg_t>(spare + 2 * kSpare - 8);  // as after a call: 8 below a multiple of 16
    registers[REG_RIP] = reinterpret_cast<greg_t>(&report);
    return true;
#elif defined(__aarch64__) && defined(__linux__)
    auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext;
    fault = {signal, address, reinterpret_cast<const std::byte*>(registers.pc) + 1};
    registers.sp = reinterpret_cast<std::uintptr_t>(spare + 2 * kSpare);
    registers.pc = reinterpret_cast<std::uintptr_t>(&report);
    return true;
#else
    return false;
#endif
}

void on_signal(int signal, siginfo_t* info, void* context) {
    if (redirect(signal, info->si_addr, context)) {
#if defined(__x86_64__) && defined(__linux__)
        fault.without_address = signal == SIGSEGV && info->si_code == SI_KERNEL;
#endif
        return;
    }
    const struct sigaction& before = earlier[signal == kSignals[0] ? 0 : 1];
    if ((before.sa_flags & SA_SIGINFO) != 0 && before.sa_sigaction != nullptr) {
        before.sa_sigaction(signal, info, context);
    } else if (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN) {
        sigaction(signal, &before, nullptr);  // the access is retried and then ends the process
    } else {
        before.sa_handler(signal);
    }
}

}  // namespace

bool stop_for_time(void* context) { return redirect(0, nullptr, context); }

void catch_faults() {
    fiber_stacks();  // must exist before the handler runs
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
        for (int i = 0; i < 2; ++i) sigaction(kSignals[i], &action, &earlier[i]);
        return true;
    }();
    static_cast<void>(installed);
}

}  // namespace heddle::emulator
