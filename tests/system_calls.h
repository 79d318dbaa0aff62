// Runs a piece of code in a process of its own and kills it, or fails it, at any one of its system calls.
#pragma once

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace heddle {

/// What the traced process did.
struct Traced {
    bool possible = false;  ///< false: this system does not let a process trace its child
    bool killed = false;
    int status = -1;          ///< what the body returned
    std::vector<long> calls;  ///< system calls that began, by their numbers in <sys/syscall.h>
};

/// Runs `body` in a child. The call with this index (from 0) never runs: the child is killed before it, or, with an `error`,
/// the call returns that error instead. An index below 0 lets all run. Only on x86-64.
inline Traced trace(const std::function<int()>& body, long index, int error = 0) {
    Traced traced;
#ifdef __x86_64__
    const pid_t child = fork();
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(77);
        raise(SIGSTOP);
        _exit(body());
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFSTOPPED(status)) return traced;
    traced.possible = ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL) == 0;
    bool entering = false, chosen = false;
    for (int signal = 0;;) {
        ptrace(PTRACE_SYSCALL, child, nullptr, signal);
        waitpid(child, &status, 0);
        signal = 0;
        if (WIFEXITED(status)) return traced.status = WEXITSTATUS(status), traced;
        if (WIFSIGNALED(status)) return traced.killed = true, traced;
        if (WSTOPSIG(status) != (SIGTRAP | 0x80)) {
            signal = WSTOPSIG(status);
            continue;
        }
        entering = !entering;
        user_regs_struct registers{};
        ptrace(PTRACE_GETREGS, child, nullptr, &registers);
        if (entering) {
            chosen = static_cast<long>(traced.calls.size()) == index;
            traced.calls.push_back(static_cast<long>(registers.orig_rax));
            if (!chosen) continue;
            if (error == 0) kill(child, SIGKILL);
            registers.orig_rax = ~0ULL;  // no such call
        } else {
            if (!chosen) continue;
            registers.rax = static_cast<unsigned long long>(-static_cast<long long>(error));
        }
        ptrace(PTRACE_SETREGS, child, nullptr, &registers);
    }
#else
    (void)body, (void)index, (void)error;
    return traced;
#endif
}

// ---- how thorough the tests of faults are: a sample in ctest, everything in tests/faults.sh, which prints their rows as a table

/// HEDDLE_FAULTS=all: the long form.
inline bool all_faults() {
    const char* const wanted = std::getenv("HEDDLE_FAULTS");
    return wanted != nullptr && std::string(wanted) == "all";
}

/// A row of the table in docs/measured/reliability.md.
inline void print_faults(const std::string& fault, int trials, const std::string& outcome) {
    std::printf("FAULTS | %s | %d | %s |\n", fault.c_str(), trials, outcome.c_str());
}

}  // namespace heddle
