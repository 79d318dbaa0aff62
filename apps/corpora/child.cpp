#include "apps/corpora/child.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

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

ChildResult run_child(const std::vector<std::string>& words, const ScratchFile& input, const ScratchFile& output) {
    const ScratchFile errors;
    ChildFiles files;
    files.give(input, STDIN_FILENO);
    files.give(output, STDOUT_FILENO);
    files.give(errors, STDERR_FILENO);
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);

    input.rewind();
    pid_t process = 0;
    const int failed = posix_spawnp(&process, arguments[0], files.get(), nullptr, arguments.data(), environ);
    if (failed == ENOENT) return {.found = false, .status = 127, .errors = ""};
    check(failed == 0, "{} cannot be started: {}", words[0], std::generic_category().message(failed));
    int ended = 0;
    while (::waitpid(process, &ended, 0) < 0)
        if (errno != EINTR) fail_with("{}: it cannot be waited for: {}", words[0], std::generic_category().message(errno));
    output.rewind();
    const std::string said = errors.text();
    return {.found = true,
            .status = WIFEXITED(ended) ? WEXITSTATUS(ended) : 128 + WTERMSIG(ended),
            .errors = joined_lines(said),
            .raw_errors = said};
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
