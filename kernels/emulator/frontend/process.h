// Runs the compiler and the checked program as child processes.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::emulator::frontend {

/// Thrown when Ctrl-C, SIGTERM or SIGHUP has arrived: the child has been ended, and temporary files are removed on the way out.
struct Interrupted : std::runtime_error {
    explicit Interrupted(int which) : std::runtime_error("interrupted"), signal(which) {}
    int signal;
};

/// While one exists, Ctrl-C, SIGTERM and SIGHUP end the child and become Interrupted; a broken pipe is an error of write().
class CaughtSignals {
  public:
    CaughtSignals();
    ~CaughtSignals();
    CaughtSignals(const CaughtSignals&) = delete;
    CaughtSignals& operator=(const CaughtSignals&) = delete;
};

/// How a child ended.
struct Ended {
    int status = 0;         ///< its exit status, if it ended by itself
    int signal = 0;         ///< that ended it; 0: none
    int stopped = 0;        ///< that stopped it without ending it, such as SIGSTOP; then it was killed; 0: none
    bool too_long = false;  ///< it was killed when its time was over
};

/// A finished tool, such as a compiler.
struct ToolRun {
    Ended ended;
    std::string output;  ///< of stdout
    std::string errors;  ///< of stderr
    bool good() const { return ended.signal == 0 && ended.status == 0 && ended.stopped == 0 && !ended.too_long; }
};

/// How a tool runs.
struct ToolOptions {
    std::chrono::milliseconds longest{120'000};
    std::string input = {};                           ///< a file for its stdin; empty: nothing
    std::string temporary = {};                       ///< its folder for temporary files; empty: this process's
    std::uint64_t processor_seconds = 0, memory = 0;  ///< the most that each of its processes may take; bytes; 0: no limit
};

/// Runs words[0], a path or a name in PATH, with messages in English. std::runtime_error if it cannot be started.
ToolRun run_tool(const std::vector<std::string>& words, const ToolOptions& options);

/// The standard input of this process, which each run of the program gets as a copy: a file is opened anew, and what comes from a
/// pipe or a terminal is kept.
class Input {
  public:
    /// Bytes that were read so far.
    const std::string& kept() const { return kept_; }
    /// A new descriptor of stdin at the place where it stood at the start, if it is a file; else -1.
    int reopened() const;
    /// Reads what is there. False at the end of the input.
    bool read_more();
    bool ended() const { return ended_; }

  private:
    std::string kept_;
    bool ended_ = false;
};

/// A run of the checked program.
struct ProgramRun {
    std::vector<std::string> words;        ///< its path and its arguments
    std::vector<std::string> environment;  ///< "NAME=VALUE", added to this process's
    bool shown = true;                     ///< its stdout and stderr are those of this process; else they are dropped
    std::chrono::milliseconds longest{15000};
    std::function<void(std::string_view)> record;  ///< called with each line that comes over the descriptor of records
};

/// Runs the program in a process group of its own, which is ended with it. HEDDLE_EMULATOR_REPORTS is set to the descriptor of
/// records.
Ended run_program(const ProgramRun& run, Input& input);

}  // namespace heddle::emulator::frontend
