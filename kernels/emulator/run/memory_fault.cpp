// Handles host accesses to closed device memory: prints a message, then the process ends as usual.
#include <ucontext.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <utility>

#include "kernels/emulator/run/memory.h"
#include "kernels/emulator/run/report.h"
#include "kernels/emulator/run/run.h"
#include "kernels/emulator/run/verdict.h"

namespace heddle::emulator {
namespace {

struct sigaction former = {};

HostAccess access_of(const siginfo_t* info, [[maybe_unused]] void* context) {
    HostAccess access = {static_cast<const std::byte*>(info->si_addr), false, nullptr, queued_operations};
#if defined(__x86_64__) && defined(__linux__)
    const auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    access.written = (registers[REG_ERR] & 2) != 0;
    access.code = reinterpret_cast<const std::byte*>(registers[REG_RIP]) + 1;  // place_of_code expects return addresses
#elif defined(__aarch64__) && defined(__linux__)
    access.code = reinterpret_cast<const std::byte*>(static_cast<ucontext_t*>(context)->uc_mcontext.pc) + 1;
#endif
    return access;
}

// The instruction that the signal stopped; null if it is unknown.
const std::byte* code_of([[maybe_unused]] void* context) {
#if defined(__x86_64__) && defined(__linux__)
    return reinterpret_cast<const std::byte*>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__) && defined(__linux__)
    return reinterpret_cast<const std::byte*>(static_cast<ucontext_t*>(context)->uc_mcontext.pc);
#else
    return nullptr;
#endif
}

void on_fault(int signal, siginfo_t* info, void* context) {
    if (is_device_memory(info->si_addr) && !in_a_kernel()) {
        HostAccess access = access_of(info, context);
        if (memory_kind(access.address) == MemoryKind::managed && tells()) {
            // The access is no part of an allocation, so that the handler may allocate.
            SourceLine line = access.code == nullptr ? SourceLine{} : source_line_of(access.code);
            if (line.line == 0 || line.file.compare(0, 5, "/usr/") == 0) line = line_of_caller();  // memcpy, printf
            access.file = line.file;
            access.line = line.line;
        }
        if (show_managed_memory(access)) return;
    }
    if (is_device_memory(info->si_addr) && !in_a_kernel()) {  // a kernel's faults become violations (faults.cpp)
        char where[512] = "an unknown place", text[1024];
        bool open = false;
        describe_fault(info->si_addr, open, where, sizeof where);
        const int length =
            open ? std::snprintf(text, sizeof text, "heddle emulator: a kernel touched device memory that is not its own: %s\n",
                                 where)
                 : std::snprintf(text, sizeof text,
                                 "heddle emulator: host code touched device memory: %s; copy it to the host first\n", where);
        if (tells()) {  // this process is lost anyway, so the handler may allocate
            const auto* const code = code_of(context);
            SourceLine line = code == nullptr ? SourceLine{} : source_line_of(code + 1);
            if (line.line == 0 || line.file.compare(0, 5, "/usr/") == 0) line = line_of_caller();  // memcpy, printf
            ViolationRecord record =
                mistake("host-access", {},
                        std::string(text + std::strlen("heddle emulator: "), length - 1 - std::strlen("heddle emulator: ")));
            if (line.line != 0) record.text += " (at " + line.text + ")";
            record.file = line.file;
            record.line = line.line;
            write_record(std::move(record));
        } else if (length > 0 && write(STDERR_FILENO, text, static_cast<std::size_t>(length)) < 0) {
            return;
        }
    }
    if ((former.sa_flags & SA_SIGINFO) != 0 && former.sa_sigaction != nullptr) return former.sa_sigaction(signal, info, context);
    if ((former.sa_flags & SA_SIGINFO) == 0 && former.sa_handler != SIG_DFL && former.sa_handler != SIG_IGN)
        return former.sa_handler(signal);
    sigaction(signal, &former, nullptr);  // the access is retried and now ends the program as usual
}

}  // namespace

void watch_faults() {
    struct sigaction action = {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;  // SA_ONSTACK, because the stack may have overflowed
    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, &former);
}

}  // namespace heddle::emulator
