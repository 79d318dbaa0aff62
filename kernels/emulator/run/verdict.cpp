#include "kernels/emulator/run/verdict.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/syscall.h>
#endif

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/emulator/run/report.h"
#include "kernels/emulator/run/run.h"
#include "kernels/emulator/run/trace_hooks.h"

namespace heddle::emulator {
namespace {

bool is_set(const char* variable) {
    const char* const text = std::getenv(variable);
    return text != nullptr && *text != 0 && std::string_view(text) != "0";
}

struct Verdict {
    pid_t process = 0;
    int output = -1;
    std::string path;  // of what `output` writes to; empty: it has none
    dev_t device = 0;  // and its identity
    ino_t node = 0;
    bool has_pipe = false, same_values = false, leaks = false, cost = false;
    std::mutex mutex;
    std::map<std::string, std::uint64_t> told;  // the violations so far, with their ids
    std::uint64_t ids = 0;
    std::vector<void (*)()> at_end, last;
};
std::atomic<Verdict*> verdict{nullptr};  // null: no program of the front end

constexpr int kHigh = 100;  // out of the way of programs that close or count their descriptors

// A program may have closed the descriptor, and another of its files may have the number now.
bool is_open(const Verdict& own) {
    struct stat now = {};
    return fstat(own.output, &now) == 0 && now.st_dev == own.device && now.st_ino == own.node;
}

void know_output(Verdict& own) {
    struct stat now = {};
    if (fstat(own.output, &now) != 0) return;
    own.device = now.st_dev;
    own.node = now.st_ino;
}

void put(const std::string& text, Verdict& own) {
    if (!is_open(own) && !own.path.empty())
        if (const int again = ::open(own.path.c_str(), O_WRONLY | O_CLOEXEC); again >= 0) {
            const int high = fcntl(again, F_DUPFD_CLOEXEC, kHigh);
            own.output = high >= 0 ? high : again;
            if (high >= 0) ::close(again);
            know_output(own);
        }
    if (!is_open(own)) return;
    for (std::size_t done = 0; done < text.size();) {
        const ssize_t count = write(own.output, text.data() + done, text.size() - done);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return;  // nobody reads it any more
        done += static_cast<std::size_t>(count);
    }
}

std::string key_of(const ViolationRecord& record) {
    std::string key = record.kind + (record.same_value ? "\tsame\t" : "\t") + record.kernel + "\t" + record.file + ":" +
                      std::to_string(record.line) + "\t" + record.other_file + ":" + std::to_string(record.other_line);
    if (record.line == 0) key += "\t" + record.text;
    return key;
}

void run_all(std::vector<void (*)()>& works) {
    while (!works.empty()) {
        void (*const work)() = works.back();
        works.pop_back();
        work();
    }
}
void run_at_end() {
    if (tells() && !in_a_kernel()) run_all(verdict.load()->at_end);
}
void run_last() {
    if (tells() && !in_a_kernel()) run_all(verdict.load()->last);
}

// The action of SIGABRT is the default by now.
void end_at_once(int) {
    sigset_t both;
    sigemptyset(&both);
    sigaddset(&both, SIGABRT);
    pthread_sigmask(SIG_UNBLOCK, &both, nullptr);
    raise(SIGABRT);
}

// Where malloc has called abort(), it may hold its lock, and whoever allocates waits for ever: then the process ends here.
void try_to_allocate() {
    std::signal(SIGALRM, end_at_once);
    constexpr itimerval kNever = {}, kSecond = {{0, 0}, {1, 0}};
    setitimer(ITIMER_REAL, &kSecond, nullptr);
    void* volatile memory = std::malloc(64 << 10);  // more than a thread keeps for itself
    std::free(memory);
    setitimer(ITIMER_REAL, &kNever, nullptr);
}

// abort() and std::terminate() come here.
void on_abort(int signal) {
    std::signal(signal, SIG_DFL);  // a second one ends the process at once
    try_to_allocate();
    run_at_end();
    raise(signal);
}

}  // namespace

void foreign_program() {
    if (verdict.load() != nullptr) return;
    auto* const made = new Verdict;  // never destroyed: destructors of statics make mistakes, too
    made->process = getpid();
    const char* const wanted = std::getenv("HEDDLE_EMULATOR_REPORTS");
    const int given = wanted != nullptr && *wanted != 0 ? std::atoi(wanted) : -1;
    if (given >= 0) made->output = fcntl(given, F_DUPFD_CLOEXEC, kHigh);
    if (made->output >= 0) {
        ::close(given);
    } else if (given >= 0 && fcntl(given, F_SETFD, FD_CLOEXEC) == 0) {
        made->output = given;  // so high a number is not allowed
    }
    made->has_pipe = made->output >= 0;
    if (!made->has_pipe) made->output = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, kHigh);
    if (const char* const path = made->has_pipe ? std::strchr(wanted, ':') : nullptr) made->path = path + 1;
    know_output(*made);
    made->same_values = is_set("HEDDLE_EMULATOR_SAME_VALUE");
    made->leaks = is_set("HEDDLE_EMULATOR_LEAKS");
    made->cost = is_set("HEDDLE_EMULATOR_COST");
    verdict = made;
    std::atexit(run_last);  // registered first, so it runs after the destructors of the statics that are made later
    std::at_quick_exit(run_last);
    struct sigaction action = {};
    action.sa_handler = on_abort;
    sigaction(SIGABRT, &action, nullptr);
    if (!is_set("HEDDLE_EMULATOR_TRACE")) return;
    const char* const launches = std::getenv("HEDDLE_EMULATOR_LAUNCHES");
    trace_program(std::getenv("HEDDLE_EMULATOR_TRACE"), launches == nullptr ? 8 : std::strtoull(launches, nullptr, 10));
}

bool is_foreign_program() { return verdict.load(std::memory_order_relaxed) != nullptr; }
bool tells() { return is_foreign_program() && verdict.load()->process == getpid(); }
bool tolerates_same_values() { return is_foreign_program() && verdict.load()->same_values; }
bool leaks_are_mistakes() { return is_foreign_program() && verdict.load()->leaks; }
bool is_cost_counted() { return is_foreign_program() && verdict.load()->cost; }

void at_end(void (*work)(), bool last) {
    if (!is_foreign_program()) return;
    Verdict& own = *verdict.load();
    (last ? own.last : own.at_end).push_back(work);
    if (last) return;
    // Registered again each time: the end of main() runs it before the destructors of what existed by now.
    std::atexit(run_at_end);
    std::at_quick_exit(run_at_end);
}

ViolationRecord mistake(const char* kind, Place place, std::string text) {
    ViolationRecord record;
    record.kind = kind;
    record.file = place.file;
    record.line = place.line;
    record.text = std::move(text);
    return record;
}

void write_record(ViolationRecord record) {
    if (!tells()) return;
    Verdict& own = *verdict.load();
    const std::lock_guard lock(own.mutex);
    if (record.seed == 0) record.seed = seed();
    const bool is_count = record.kind.starts_with("cost") || record.kind == "launched";
    if (is_count && !own.has_pipe) return;
    if (!is_count) {
        const auto [known, is_new] = own.told.try_emplace(key_of(record), own.ids + 1);
        if (!is_new) {
            if (record.note || !own.has_pipe) return;
            ViolationRecord again;
            again.kind = "again";
            again.id = known->second;
            again.launch = record.launch;
            put(encode(again), own);
            return;
        }
    }
    record.id = ++own.ids;
    put(own.has_pipe ? encode(record) : (record.note ? "heddle: note: " : "heddle: ") + record.text + "\n", own);
}

}  // namespace heddle::emulator

#if defined(__linux__)
// These end the process and run no handlers. A program that calls them finds these instead of the C library's; exit() does not.
extern "C" {
void _exit(int status) {
    heddle::emulator::run_at_end();
    heddle::emulator::run_last();
    for (;;) syscall(SYS_exit_group, status);
}
void _Exit(int status) noexcept { _exit(status); }
}
#endif
