#include "apps/learn/grader/watch.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <span>
#include <thread>

#include "apps/learn/grader/verdict.h"
#include "kernels/emulator/run/report.h"

namespace {

thread_local std::array<void*, 48> throw_frames;
thread_local int throw_frame_count = 0;

}  // namespace

// Called by every throw in this program and in the libraries that it loads: the dynamic linker finds it before the one of the
// standard library, which it calls. The name is set here because compilers declare __cxa_throw themselves, and differ in it.
extern "C" [[noreturn]] void remember_and_throw(void* exception, void* type, void (*destroy)(void*)) __asm__("__cxa_throw");
extern "C" void remember_and_throw(void* exception, void* type, void (*destroy)(void*)) {
    throw_frame_count = backtrace(throw_frames.data(), static_cast<int>(throw_frames.size()));
    using Throw = void (*)(void*, void*, void (*)(void*));
    static const auto standard = reinterpret_cast<Throw>(dlsym(RTLD_NEXT, "__cxa_throw"));
    standard(exception, type, destroy);
    std::abort();
}

namespace heddle::learn {
namespace {

constexpr int kFrames = 48;
// The watched thread's stack: the signal handler fills it, the watcher reads it once `samples` has changed.
std::array<void*, kFrames> frames;
std::atomic<int> frame_count = 0, samples = 0, crash = 0;
std::atomic<bool> is_held = false;  // the watched thread stays in its handler
std::atomic<bool> is_stack_full = false;
const std::byte* stack_end = nullptr;  // lowest address of the watched thread's stack
std::string uncaught;                  // the text of the exception that ended the program; set before `crash`

// The stack of the crash handler, for when the thread's own is full.
std::array<std::byte, 256 << 10> spare_stack;

void sample(int) {
    frame_count = backtrace(frames.data(), kFrames);
    ++samples;
    const timespec a_moment = {0, 1'000'000};
    while (is_held) nanosleep(&a_moment, nullptr);
}

void on_crash(int signal, siginfo_t* info, void*) {
    if (crash != 0) return;
    // The system keeps up to 1 MB free between the stack and what lies below it.
    constexpr std::ptrdiff_t kNear = 1 << 20;
    const std::ptrdiff_t above_end = static_cast<const std::byte*>(info->si_addr) - stack_end;
    is_stack_full = signal == SIGSEGV && stack_end != nullptr && above_end > -kNear && above_end < kNear;
    frame_count = backtrace(frames.data(), kFrames);
    crash = signal;
    for (;;) pause();  // the watcher ends the process
}

// Ends a program that does not catch an exception, such as one thrown while a global variable is initialised.
[[noreturn]] void on_terminate() {
    const std::exception_ptr thrown = std::current_exception();
    uncaught = thrown ? text_of(thrown) : "the program calls std::terminate: an exception that leaves a noexcept function?";
    std::abort();
}

void pause_for(std::chrono::milliseconds time) { std::this_thread::sleep_for(time); }

// The innermost line of `source` among `places`, which are from backtrace(); 0 if there is none.
int innermost_line(std::span<void* const> places, const std::string& source) {
    for (void* const place : places)
        if (const int line = line_in(emulator::line_of_code(place), source); line != 0) return line;
    return 0;
}

int line_of_frames(const std::string& source) {
    return innermost_line({frames.data(), static_cast<std::size_t>(frame_count.load())}, source);
}

// Interrupts the thread until it is in a line of the source and returns that line: between two threads of a kernel the emulator
// itself runs. With `there`, the thread is held, and only lines where `there` returns true count. 0 if there is none.
int running_line(pthread_t watched, const std::string& source, const std::function<bool()>& there = nullptr) {
    for (int i = 0; i < 20; ++i) {
        const int before = samples;
        is_held = there != nullptr;
        pthread_kill(watched, SIGUSR2);
        for (int wait = 0; samples == before && wait < 50; ++wait) pause_for(std::chrono::milliseconds(2));
        if (samples == before) return 0;
        const int line = line_of_frames(source);
        const bool is_found = line != 0 && (there == nullptr || there());
        is_held = false;
        if (is_found) return line;
        pause_for(std::chrono::milliseconds(3));
    }
    return 0;
}

double cpu_seconds(clockid_t clock = CLOCK_PROCESS_CPUTIME_ID) {
    timespec now = {};
    clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

std::size_t memory_in_use() {
    std::size_t all = 0, resident = 0;
    if (std::FILE* const file = std::fopen("/proc/self/statm", "r")) {
        if (std::fscanf(file, "%zu %zu", &all, &resident) != 2) resident = 0;
        std::fclose(file);
    }
    return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

std::string at(const std::string& source, int line) { return line == 0 ? "" : " at " + source + ":" + std::to_string(line); }

void watch_over(pthread_t watched, const Limits& limits, const std::string& source, const std::string& result,
                const std::function<bool()>& at_the_end) {
    const auto end_with = [&](const std::string& kind, const std::string& text, const std::function<int()>& find_line) {
        const auto write = [&](int line) {
            write_verdict({.kind = kind, .line = line, .text = text + at(source, line)}, result);
        };
        // The stopped thread may hold a lock that is needed from here on: then the alarm ends the process, and this verdict
        // stands.
        write(0);
        alarm(20);
        const int line = find_line();
        if (line != 0) {
            write(line);
            if (crash != 0)
                at_the_end();
            else
                running_line(watched, source, at_the_end);
        }
        _exit(0);
    };
    const auto line_of_crash = [&] { return line_of_frames(source); };
    const auto line_that_runs = [&] { return running_line(watched, source); };
    const auto start = std::chrono::steady_clock::now();
    const std::chrono::seconds longest(2 * limits.seconds + 30);
    // Idle time is counted in rounds, because the whole process may have been stopped for a while.
    constexpr double kNothing = 0.01;
    const int longest_wait = limits.seconds * 100;
    const std::string time = fmt::format("{} second{}", limits.seconds, limits.seconds == 1 ? "" : "s");
    double work_at_last = 0;
    int idle_rounds = 0;
    for (;; pause_for(std::chrono::milliseconds(10))) {
        if (crash != 0)
            end_with("crash",
                     is_stack_full       ? "the stack is full: a function that calls itself without end, or a very large array?"
                     : !uncaught.empty() ? uncaught
                                         : "the program was ended by " + std::string(strsignal(crash)),
                     line_of_crash);
        if (memory_in_use() > limits.memory)
            end_with("memory", "the program uses more than " + std::to_string(limits.memory >> 20) + " MB of memory",
                     line_that_runs);
        const double work = cpu_seconds() - cpu_seconds(CLOCK_THREAD_CPUTIME_ID);  // without this thread's
        ++idle_rounds;
        if (work > work_at_last + kNothing) {
            work_at_last = work;
            idle_rounds = 0;
        }
        if (idle_rounds > longest_wait)
            end_with("endless", fmt::format("it has done nothing for {}: does it wait for something that never happens?", time),
                     line_that_runs);
        if (cpu_seconds() > limits.seconds || std::chrono::steady_clock::now() - start > longest)
            end_with("endless", "still running after " + time + ": a loop that does not end?", line_that_runs);
    }
}

}  // namespace

int line_of_last_throw(const std::string& source) {
    return innermost_line({throw_frames.data(), static_cast<std::size_t>(throw_frame_count)}, source);
}

std::string text_of(const std::exception_ptr& thrown) {
    std::string what = "one that is not a std::exception";
    try {
        std::rethrow_exception(thrown);
    } catch (const std::exception& error) {
        what = error.what();
    } catch (...) {
    }
    return "the program throws an exception: " + on_one_line(what);
}

void lift_print_limit() {
    rlimit file = {};
    getrlimit(RLIMIT_FSIZE, &file);
    file.rlim_cur = file.rlim_max;
    setrlimit(RLIMIT_FSIZE, &file);
}

void watch(const Limits& limits, const std::string& source, const std::string& result, const std::function<bool()>& at_the_end) {
    // Limits of the system, in case the watcher is stuck because the interrupted thread holds a lock that it needs.
    const auto last = static_cast<rlim_t>(limits.seconds) + 5;
    const rlimit cpu = {last, last}, core = {0, 0};
    setrlimit(RLIMIT_CPU, &cpu);
    setrlimit(RLIMIT_CORE, &core);
    // A kernel that prints for ever must not fill the disk: past the limit writes fail, and the program continues.
    rlimit file = {};
    getrlimit(RLIMIT_FSIZE, &file);
    file.rlim_cur = std::min<rlim_t>(limits.printed, file.rlim_max);
    setrlimit(RLIMIT_FSIZE, &file);
    std::signal(SIGXFSZ, SIG_IGN);
    std::setvbuf(stdout, nullptr, _IOLBF, 0);  // what was printed before the end is not lost
    backtrace(frames.data(), kFrames);         // loads what it needs now, not in a signal handler

    pthread_attr_t attributes;
    void* lowest = nullptr;
    std::size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        if (pthread_attr_getstack(&attributes, &lowest, &size) == 0) stack_end = static_cast<const std::byte*>(lowest);
        pthread_attr_destroy(&attributes);
    }
    // The emulator replaces it with one of its own, with the first kernel.
    const stack_t spare = {.ss_sp = spare_stack.data(), .ss_flags = 0, .ss_size = spare_stack.size()};
    sigaltstack(&spare, nullptr);

    struct sigaction action = {};
    action.sa_flags = SA_ONSTACK | SA_RESTART;  // a kernel's thread has a small stack
    action.sa_handler = sample;
    sigaction(SIGUSR2, &action, nullptr);
    action.sa_flags |= SA_SIGINFO;
    action.sa_sigaction = on_crash;
    // The emulator's handlers of the last two, which it installs with the first kernel, pass on what happens outside of kernels.
    for (const int signal : {SIGABRT, SIGILL, SIGBUS, SIGTRAP, SIGSEGV, SIGFPE}) sigaction(signal, &action, nullptr);
    std::set_terminate(on_terminate);
    std::thread(watch_over, pthread_self(), limits, source, result, at_the_end).detach();
}

void stop_printing() {
    std::fflush(stdout);
    const int nowhere = open("/dev/null", O_WRONLY);
    if (nowhere >= 0) dup2(nowhere, STDOUT_FILENO);
}

void restart_printing() {
    std::fflush(stdout);
    if (ftruncate(STDOUT_FILENO, 0) == 0) lseek(STDOUT_FILENO, 0, SEEK_SET);
}

}  // namespace heddle::learn
