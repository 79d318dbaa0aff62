// The end of a run's time: a launch that still runs then ends with the line that its thread is at.
//
// A timer's signal sets a flag, which every watched access, wait and spin looks at. A loop without any of them does not end by
// itself: if the flag is still unread some ticks later and the thread is in the program's own code, the handler redirects it as
// faults.cpp does.
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <ctime>

#if defined(__linux__)
#include <link.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#endif

#include "kernels/emulator/run/checker_hooks.h"
#include "kernels/emulator/run/report.h"
#include "kernels/emulator/run/scheduler.h"
#include "kernels/emulator/run/verdict.h"

namespace heddle::emulator {

constinit std::atomic<bool> detail::time_is_over{false};

namespace {

double seconds_of_run() {
    const char* const text = std::getenv("HEDDLE_EMULATOR_SECONDS");
    return text == nullptr ? 0 : std::strtod(text, nullptr);
}

std::uint64_t progress_of(const Scheduler& own) { return own.progress + checker::writes(); }

#if defined(__linux__)

constexpr double kTick = 0.1;
constexpr int kTicksOfPatience = 3;
constexpr double kLookBack = 1;  // seconds before the end from which on it is watched whether threads come any further

// The timer of the CPU thread that runs launches. A signal's handler reads it.
struct Clockwork {
    timer_t timer{};
    bool made = false;
    timespec end{};
    std::uint64_t progress = 0;  // half a second to a second before the end
    int ticks = 0;               // since the end
};
thread_local constinit Clockwork clockwork;
const timespec start_of_process = [] {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now;
}();
std::uintptr_t code_begin = 0, code_end = 0;  // of the program's file

double seconds_since(const timespec& from) {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return double(now.tv_sec - from.tv_sec) + 1e-9 * double(now.tv_nsec - from.tv_nsec);
}

bool is_in_program([[maybe_unused]] void* context) {
#if defined(__x86_64__)
    const auto code = static_cast<std::uintptr_t>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
    const auto code = static_cast<std::uintptr_t>(static_cast<ucontext_t*>(context)->uc_mcontext.pc);
#else
    const std::uintptr_t code = 0;
#endif
    return code >= code_begin && code < code_end;
}

void on_tick(int, siginfo_t*, void* context) {
    if (scheduler == nullptr) return;
    if (const double since = seconds_since(clockwork.end); !is_time_over() && since < 0) {
        // Later ticks do not count: on a busy machine this process may not run at all for some of them.
        if (since < -kLookBack / 2) clockwork.progress = progress_of(*scheduler);
        return;
    }
    detail::time_is_over = true;
    if (++clockwork.ticks > kTicksOfPatience && is_in_program(context)) stop_for_time(context);
}

timespec seconds_text(double seconds) {
    timespec time{};
    time.tv_sec = static_cast<time_t>(seconds);
    time.tv_nsec = static_cast<long>((seconds - double(time.tv_sec)) * 1e9);
    return time;
}

void make_timer() {
    struct sigaction action = {};
    action.sa_sigaction = on_tick;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    sigaction(SIGRTMAX - 3, &action, nullptr);
    sigevent event = {};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGRTMAX - 3;
#if defined(sigev_notify_thread_id)
    event.sigev_notify_thread_id = static_cast<pid_t>(syscall(SYS_gettid));
#else
    event._sigev_un._tid = static_cast<pid_t>(syscall(SYS_gettid));
#endif
    clockwork.made = timer_create(CLOCK_MONOTONIC, &event, &clockwork.timer) == 0;
    clockwork.end = start_of_process;
    const timespec more = seconds_text(seconds_of_run());
    clockwork.end.tv_sec += more.tv_sec + (clockwork.end.tv_nsec + more.tv_nsec) / 1'000'000'000;
    clockwork.end.tv_nsec = (clockwork.end.tv_nsec + more.tv_nsec) % 1'000'000'000;
    if (code_end != 0) return;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void*) {
            for (int i = 0; i < info->dlpi_phnum; ++i) {
                const auto& header = info->dlpi_phdr[i];
                if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
                code_begin = info->dlpi_addr + header.p_vaddr;
                code_end = code_begin + header.p_memsz;
            }
            return 1;  // the first one is the program
        },
        nullptr);
}

#endif

}  // namespace

void out_of_time(const void* code, Place place) {
    Launch& launch = *scheduler->launch;
#if defined(__linux__)
    const bool is_slow = clockwork.progress != progress_of(*scheduler);
#else
    const bool is_slow = true;
#endif
    const checker::Unwatched own_code;
    SourceLine line{text_of(place), place.file, place.line};
    if (code != nullptr) line = line_near(code);
    const char* const seconds = std::getenv("HEDDLE_EMULATOR_SECONDS");
    ViolationRecord about =
        mistake(is_slow ? "out-of-time" : "no-progress", {},
                (is_slow ? "still runs when the " : "no progress: still runs when the ") +
                    std::string(seconds == nullptr ? "" : seconds) + " seconds of this run are over, and is at " + line.text);
    about.note = is_slow;  // it might end some time
    about.file = line.file;
    about.line = line.line;
    if (launch.is_late) launch.is_told = true, about.note = false;  // an earlier launch took the time
    violate(std::move(about));
}

#if defined(__linux__)

Timed::Timed() {
    if (!tells() || seconds_of_run() <= 0) return;
    if (!clockwork.made) make_timer();
    if (!clockwork.made) return;
    clockwork.ticks = 0;
    const double left = -seconds_since(clockwork.end);
    if (left <= 0) detail::time_is_over = true;
    itimerspec when = {};
    when.it_interval = seconds_text(kTick);
    when.it_value = seconds_text(left > kLookBack ? left - kLookBack : kTick);
    if (scheduler != nullptr) clockwork.progress = progress_of(*scheduler);
    timer_settime(clockwork.timer, 0, &when, nullptr);
}

Timed::~Timed() {
    if (!clockwork.made) return;
    const itimerspec never = {};
    timer_settime(clockwork.timer, 0, &never, nullptr);
}

#else
Timed::Timed() = default;
Timed::~Timed() = default;
#endif

}  // namespace heddle::emulator
