#include "kernels/emulator/frontend/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iterator>

#if defined(__linux__)
#include <sys/prctl.h>
#endif

extern char** environ;

namespace heddle::emulator::frontend {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kCaught[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};
struct sigaction former_actions[std::size(kCaught)];
struct sigaction former_pipe_action;
std::atomic<int> arrived_signal = 0;
static_assert(std::atomic<int>::is_always_lock_free, "or no handler may use it");

extern "C" void heddle_note_signal(int signal) {
    int none = 0;
    arrived_signal.compare_exchange_strong(none, signal);
}

// A file descriptor that is closed with the object.
class Descriptor {
  public:
    Descriptor() = default;
    explicit Descriptor(int number) : number_(number) {}
    ~Descriptor() { close(); }
    Descriptor(Descriptor&& other) noexcept : number_(other.number_) { other.number_ = -1; }
    Descriptor& operator=(Descriptor&& other) noexcept {
        close();
        number_ = other.number_;
        other.number_ = -1;
        return *this;
    }
    int get() const { return number_; }
    bool open() const { return number_ >= 0; }
    void close() {
        if (number_ >= 0) ::close(number_);
        number_ = -1;
    }

  private:
    int number_ = -1;
};

struct Pipe {
    Descriptor read, write;
};

Pipe make_pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error(std::string("no pipe can be made: ") + std::strerror(errno));
    return {Descriptor(ends[0]), Descriptor(ends[1])};
}

void never_wait(int descriptor) { ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) | O_NONBLOCK); }

// The descriptors that replace this process's streams in the child; -1: the same.
struct Streams {
    int in = -1, out = -1, error = -1;
    int kept = -1;  // a further descriptor that the child keeps under its number
};

// The environment with these entries in place of those of the same names.
std::vector<std::string> environment_with(const std::vector<std::string>& added) {
    std::vector<std::string> all = added;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        const std::string_view name = text.substr(0, text.find('=') + 1);
        bool replaced = false;
        for (const std::string& each : added) replaced = replaced || each.compare(0, name.size(), name) == 0;
        if (!replaced) all.emplace_back(text);
    }
    return all;
}

std::vector<char*> pointers(const std::vector<std::string>& words) {
    std::vector<char*> result;
    for (const std::string& word : words) result.push_back(const_cast<char*>(word.c_str()));
    result.push_back(nullptr);
    return result;
}

void limit(decltype(RLIMIT_CPU) what, std::uint64_t most) {
    const rlimit both = {most, most};
    if (most != 0) ::setrlimit(what, &both);
}

// Between fork() and exec(): calls only what a signal handler may call.
[[noreturn]] void become(const Streams& streams, const ToolOptions& limits, char* const* words, char* const* environment,
                         int failed) {
    ::setpgid(0, 0);
    limit(RLIMIT_CPU, limits.processor_seconds);
    limit(RLIMIT_AS, limits.memory);
#if defined(__linux__)
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    for (const int signal : kCaught)
        if (::signal(signal, SIG_DFL) == SIG_IGN) ::signal(signal, SIG_IGN);  // as nohup left it
    ::signal(SIGPIPE, SIG_DFL);
    const int wanted[] = {streams.in, streams.out, streams.error};
    for (int i = 0; i < 3; ++i)
        if (wanted[i] >= 0) ::dup2(wanted[i], i);
    if (streams.kept >= 0) ::fcntl(streams.kept, F_SETFD, 0);
    environ = const_cast<char**>(environment);
    ::execvp(words[0], words);
    const int error = errno;
    [[maybe_unused]] const ssize_t written = ::write(failed, &error, sizeof error);
    ::_exit(127);
}

pid_t start(const std::vector<std::string>& words, const std::vector<std::string>& added, const Streams& streams,
            const ToolOptions& limits = {}) {
    const std::vector<std::string> environment = environment_with(added);
    const std::vector<char*> word_pointers = pointers(words), environment_pointers = pointers(environment);
    Pipe failed = make_pipe();
    const pid_t child = ::fork();
    if (child < 0) throw std::runtime_error(std::string("no process can be started: ") + std::strerror(errno));
    if (child == 0) become(streams, limits, word_pointers.data(), environment_pointers.data(), failed.write.get());
    ::setpgid(child, child);  // here, too: whichever of the two comes first
    failed.write.close();
    int error = 0;
    if (::read(failed.read.get(), &error, sizeof error) == static_cast<ssize_t>(sizeof error)) {
        ::waitpid(child, nullptr, 0);
        throw std::runtime_error(words[0] + " cannot be started: " + std::strerror(error));
    }
    return child;
}

// True once the child has ended, or was stopped by `stopped`; it stays a zombie, so that no other process gets its number before
// the group is killed.
bool has_ended(pid_t child, int& stopped) {
    siginfo_t change{};
    if (::waitid(P_PID, static_cast<id_t>(child), &change, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) != 0) return errno != EINTR;
    if (change.si_pid != 0 && change.si_code == CLD_STOPPED) stopped = change.si_status;
    return change.si_pid != 0;
}

Ended reap(pid_t child) {
    ::kill(-child, SIGKILL);
    int ended = 0;
    while (::waitpid(child, &ended, 0) < 0 && errno == EINTR) {
    }
    Ended result;
    if (WIFSIGNALED(ended)) result.signal = WTERMSIG(ended);
    if (WIFEXITED(ended)) result.status = WEXITSTATUS(ended);
    return result;
}

// Reads what is there into `text`; closes the descriptor at its end.
void take(Descriptor& from, std::string& text) {
    char block[1 << 16];
    while (from.open()) {
        const ssize_t got = ::read(from.get(), block, sizeof block);
        if (got > 0) {
            text.append(block, static_cast<std::size_t>(got));
            if (got < static_cast<ssize_t>(sizeof block)) return;
        } else if (got == 0 || (errno != EINTR && errno != EAGAIN)) {
            from.close();
        } else if (errno == EAGAIN) {
            return;
        }
    }
}

// Follows a child until it has ended: sleeps until one of the descriptors is ready, then calls `work`.
template <class Polled, class Work>
Ended follow(pid_t child, std::chrono::milliseconds longest, Polled&& polled, Work&& work) {
    const auto start_time = Clock::now();
    for (;;) {
        std::vector<pollfd> waits = polled();
        ::poll(waits.data(), waits.size(), 5);
        work();
        int stopped = 0;
        const bool done = has_ended(child, stopped), late = Clock::now() - start_time > longest;
        if (!done && !late && arrived_signal == 0) continue;
        Ended ended = reap(child);
        ended.stopped = stopped;
        ended.too_long = late && !done;
        work();  // what the child wrote last
        if (const int signal = arrived_signal; signal != 0) throw Interrupted(signal);
        return ended;
    }
}

}  // namespace

CaughtSignals::CaughtSignals() {
    arrived_signal = 0;
    struct sigaction action {};
    action.sa_handler = heddle_note_signal;
    sigemptyset(&action.sa_mask);
    for (std::size_t i = 0; i < std::size(kCaught); ++i) {
        ::sigaction(kCaught[i], nullptr, &former_actions[i]);
        if (former_actions[i].sa_handler != SIG_IGN) ::sigaction(kCaught[i], &action, nullptr);
    }
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    ::sigaction(SIGPIPE, &ignore, &former_pipe_action);
}

CaughtSignals::~CaughtSignals() {
    for (std::size_t i = 0; i < std::size(kCaught); ++i) ::sigaction(kCaught[i], &former_actions[i], nullptr);
    ::sigaction(SIGPIPE, &former_pipe_action, nullptr);
}

ToolRun run_tool(const std::vector<std::string>& words, const ToolOptions& options) {
    Pipe output = make_pipe(), errors = make_pipe();
    const Descriptor input(::open(options.input.empty() ? "/dev/null" : options.input.c_str(), O_RDONLY | O_CLOEXEC));
    if (!input.open()) throw std::runtime_error(options.input + " cannot be read: " + std::strerror(errno));
    std::vector<std::string> environment = {"LC_ALL=C"};
    if (!options.temporary.empty()) environment.push_back("TMPDIR=" + options.temporary);
    const Streams streams{.in = input.get(), .out = output.write.get(), .error = errors.write.get(), .kept = -1};
    const pid_t child = start(words, environment, streams, options);
    output.write.close();
    errors.write.close();
    never_wait(output.read.get());
    never_wait(errors.read.get());
    ToolRun run;
    run.ended = follow(
        child, options.longest,
        [&] {
            return std::vector<pollfd>{{output.read.get(), POLLIN, 0}, {errors.read.get(), POLLIN, 0}};
        },
        [&] {
            take(output.read, run.output);
            take(errors.read, run.errors);
        });
    // A pipe holds 64 KB: what the tool wrote before its end may take several turns.
    for (std::size_t before = std::string::npos; before != run.output.size() + run.errors.size();) {
        before = run.output.size() + run.errors.size();
        take(output.read, run.output);
        take(errors.read, run.errors);
    }
    return run;
}

int Input::reopened() const {
    struct stat about {};
    if (::fstat(STDIN_FILENO, &about) != 0 || !(S_ISREG(about.st_mode) || S_ISCHR(about.st_mode)) || ::isatty(STDIN_FILENO) != 0)
        return -1;
    const int again = ::open("/dev/stdin", O_RDONLY | O_CLOEXEC);
    if (again >= 0 && S_ISREG(about.st_mode)) ::lseek(again, ::lseek(STDIN_FILENO, 0, SEEK_CUR), SEEK_SET);
    return again;
}

bool Input::read_more() {
    char block[1 << 16];
    const ssize_t got = ::read(STDIN_FILENO, block, sizeof block);
    if (got > 0) kept_.append(block, static_cast<std::size_t>(got));
    ended_ = ended_ || got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN);
    return !ended_;
}

Ended run_program(const ProgramRun& run, Input& input) {
    Pipe records = make_pipe(), to_child;
    const Descriptor file(input.reopened());
    if (!file.open()) {
        to_child = make_pipe();
        never_wait(to_child.write.get());
    }
    const Descriptor nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    // A number that no program counts on, unless so many descriptors are not allowed. Without one no violation would be seen.
    int number = ::fcntl(records.write.get(), F_DUPFD_CLOEXEC, 200);
    if (number < 0) number = ::fcntl(records.write.get(), F_DUPFD_CLOEXEC, 10);
    if (number < 0) throw std::runtime_error(std::string("no descriptor is left for the reports: ") + std::strerror(errno));
    Descriptor far(number);
    // A program that has closed it opens this process's end of the pipe anew.
    std::vector<std::string> environment = run.environment;
    environment.push_back("HEDDLE_EMULATOR_REPORTS=" + std::to_string(far.get()) + ":/proc/" + std::to_string(::getpid()) +
                          "/fd/" + std::to_string(records.write.get()));
    const int out = run.shown ? -1 : nowhere.get();
    const pid_t child =
        start(run.words, environment,
              {.in = file.open() ? file.get() : to_child.read.get(), .out = out, .error = out, .kept = far.get()});
    far.close();
    to_child.read.close();
    never_wait(records.read.get());

    std::size_t given = 0;  // of the kept input
    std::string text;
    const auto feed = [&] {
        if (!to_child.write.open()) return;
        pollfd from{STDIN_FILENO, POLLIN, 0};
        if (given == input.kept().size() && !input.ended() && ::poll(&from, 1, 0) > 0) input.read_more();
        if (given < input.kept().size()) {
            const ssize_t took = ::write(to_child.write.get(), input.kept().data() + given, input.kept().size() - given);
            if (took > 0) given += static_cast<std::size_t>(took);
            if (took < 0 && errno != EAGAIN && errno != EINTR) to_child.write.close();  // the program has closed its stdin
        }
        if (given == input.kept().size() && input.ended()) to_child.write.close();
    };
    const auto take_records = [&] {
        take(records.read, text);
        std::size_t begin = 0;
        for (std::size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
            run.record(std::string_view(text).substr(begin, end - begin));
        text.erase(0, begin);
    };
    const Ended ended = follow(
        child, run.longest,
        [&] {
            std::vector<pollfd> waits{{records.read.get(), POLLIN, 0}};
            if (to_child.write.open() && given < input.kept().size()) waits.push_back({to_child.write.get(), POLLOUT, 0});
            if (to_child.write.open() && given == input.kept().size() && !input.ended())
                waits.push_back({STDIN_FILENO, POLLIN, 0});
            return waits;
        },
        [&] {
            feed();
            take_records();
        });
    records.write.close();
    for (std::size_t turn = 0; turn < 1000 && records.read.open(); ++turn) take_records();
    return ended;
}

}  // namespace heddle::emulator::frontend
