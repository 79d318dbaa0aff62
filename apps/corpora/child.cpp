#include "apps/corpora/child.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <iterator>
#include <system_error>
#include <thread>

#include "core/format.h"

extern char** environ;

namespace heddle::app {
namespace {

[[noreturn]] void fail_at_scratch() {
    fail_with("a temporary file cannot be written: {}; make room there", std::generic_category().message(errno));
}

/// Maps files of this process to the child's standard streams.
class ChildFiles {
  public:
    ChildFiles() { posix_spawn_file_actions_init(&actions_); }
    ~ChildFiles() { posix_spawn_file_actions_destroy(&actions_); }
    ChildFiles(const ChildFiles&) = delete;
    ChildFiles& operator=(const ChildFiles&) = delete;

    void give(const ScratchFile& file, int as) { posix_spawn_file_actions_adddup2(&actions_, file.descriptor(), as); }
    const posix_spawn_file_actions_t* get() const { return &actions_; }

  private:
    posix_spawn_file_actions_t actions_{};
};

/// The attributes of a new process: a child with a time limit leads a process group of its own.
class ChildAttributes {
  public:
    explicit ChildAttributes(bool own_group) {
        posix_spawnattr_init(&attributes_);
        if (!own_group) return;
        posix_spawnattr_setpgroup(&attributes_, 0);
        posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP);
    }
    ~ChildAttributes() { posix_spawnattr_destroy(&attributes_); }
    ChildAttributes(const ChildAttributes&) = delete;
    ChildAttributes& operator=(const ChildAttributes&) = delete;

    const posix_spawnattr_t* get() const { return &attributes_; }

  private:
    posix_spawnattr_t attributes_{};
};

constexpr int delayed[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};
struct sigaction before[std::size(delayed)];
std::atomic<int> arrived = 0;
static_assert(std::atomic<int>::is_always_lock_free, "or no handler may use it");

extern "C" void note_arrival(int signal) {
    int none = 0;
    arrived.compare_exchange_strong(none, signal);
}

// Waits until the child has ended; returns the status that waitpid() gives.
int wait_for_end(pid_t child, const std::string& name) {
    int ended = 0;
    while (::waitpid(child, &ended, 0) < 0)
        if (errno != EINTR) fail_with("{}: it cannot be waited for: {}", name, std::generic_category().message(errno));
    return ended;
}

// Waits until the leader of a process group has ended, was stopped, has run for too long or a signal has arrived; then kills the
// group.
void end_group(pid_t leader, std::chrono::milliseconds longest, ChildResult& result) {
    const auto start = std::chrono::steady_clock::now();
    for (;; std::this_thread::sleep_for(std::chrono::milliseconds(5))) {
        siginfo_t change{};
        // WNOWAIT leaves a leader that has ended as a zombie, so that no other process or group gets its number before kill().
        if (::waitid(P_PID, static_cast<id_t>(leader), &change, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) != 0 && errno != EINTR)
            break;
        if (change.si_pid != 0 && change.si_code == CLD_STOPPED) result.stopped_by = change.si_status;
        if (change.si_pid != 0 || arrived != 0) break;
        result.too_long = std::chrono::steady_clock::now() - start > longest;
        if (result.too_long) break;
    }
    ::kill(-leader, SIGKILL);
}

std::string joined_lines(std::string text) {
    while (!text.empty() && text.back() == '\n') text.pop_back();
    for (char& character : text)
        if (character == '\n' || character == '\r') character = ' ';
    return text;
}

}  // namespace

ScratchFile::ScratchFile(std::string_view content) : file_(std::tmpfile()) {
    if (file_ == nullptr) fail_at_scratch();
    if (std::fwrite(content.data(), 1, content.size(), file_.get()) != content.size() || std::fflush(file_.get()) != 0)
        fail_at_scratch();
    rewind();
}

void ScratchFile::rewind() const {
    if (::lseek(descriptor(), 0, SEEK_SET) != 0) fail_at_scratch();
}

std::string ScratchFile::text() const {
    rewind();
    std::string text;
    char block[1 << 16];
    for (;;) {
        const ssize_t got = ::read(descriptor(), block, sizeof block);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) fail_at_scratch();
        if (got == 0) return text;
        text.append(block, static_cast<std::size_t>(got));
    }
}

ChildResult run_child(const std::vector<std::string>& words, const ScratchFile& input, const ScratchFile& output,
                      std::optional<std::chrono::milliseconds> longest) {
    const ScratchFile errors;
    const ChildAttributes attributes(longest.has_value());
    ChildFiles files;
    files.give(input, STDIN_FILENO);
    files.give(output, STDOUT_FILENO);
    files.give(errors, STDERR_FILENO);
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);

    input.rewind();
    pid_t process = 0;
    const int failed = posix_spawnp(&process, arguments[0], files.get(), attributes.get(), arguments.data(), environ);
    if (failed == ENOENT) return {.found = false, .status = 127, .errors = ""};
    check(failed == 0, "{} cannot be started: {}", words[0], std::generic_category().message(failed));
    ChildResult result;
    if (longest) end_group(process, *longest, result);
    const int ended = wait_for_end(process, words[0]);
    output.rewind();
    result.status = WIFEXITED(ended) ? WEXITSTATUS(ended) : 128 + WTERMSIG(ended);
    result.raw_errors = errors.text();
    result.errors = joined_lines(result.raw_errors);
    return result;
}

DelayedSignals::DelayedSignals() {
    arrived = 0;
    struct sigaction action {};
    action.sa_handler = note_arrival;
    sigemptyset(&action.sa_mask);
    for (std::size_t i = 0; i < std::size(delayed); ++i) {
        sigaction(delayed[i], nullptr, &before[i]);
        if (before[i].sa_handler != SIG_IGN) sigaction(delayed[i], &action, nullptr);
    }
}

DelayedSignals::~DelayedSignals() {
    for (std::size_t i = 0; i < std::size(delayed); ++i) sigaction(delayed[i], &before[i], nullptr);
    if (const int signal = arrived; signal != 0) std::raise(signal);
}

std::string sha256(std::string_view text) {
    constexpr std::size_t digits = 64;
    const ScratchFile input(text), output;
    const ChildResult result = run_child({"sha256sum"}, input, output);
    check(result.found, "sha256sum is missing, without which no file can be checked; install coreutils");
    const std::string said = output.text();
    check(result.status == 0 && said.size() >= digits, "sha256sum failed with status {}: {}", result.status, result.errors);
    return said.substr(0, digits);
}

}  // namespace heddle::app
