// Runs other programs as child processes without a shell.
#pragma once

#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::app {

/// A temporary file without a name, which disappears however this program ends.
class ScratchFile {
  public:
    /// Error if the folder for temporary files is full.
    explicit ScratchFile(std::string_view content = "");

    /// Positioned at the start of the file until something reads from it.
    int descriptor() const { return fileno(file_.get()); }
    void rewind() const;
    /// The whole content; moves the descriptor to the end.
    std::string text() const;

  private:
    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    std::unique_ptr<std::FILE, Close> file_;
};

struct ChildResult {
    bool found = true;            ///< false: the program does not exist, and nothing ran
    int status = 0;               ///< its exit status; 128 + the signal that ended it
    std::string errors;           ///< its stderr as one line
    std::string raw_errors = {};  ///< its stderr as it is
    bool too_long = false;        ///< it was killed when its time was over
    int stopped_by = 0;           ///< the signal that stopped it and did not end it, such as SIGSTOP; then it was killed, too
};

/// Runs `words[0]`, which is looked up in PATH, with the other words as arguments, and waits for it to end. It reads `input` from
/// the beginning and writes to `output`, which is then rewound. Error if no process can be started.
/// With `longest`, the child leads a process group of its own, which is killed when the child has ended, has been stopped by a
/// signal, or has run for so long, and when one of DelayedSignals has arrived.
ChildResult run_child(const std::vector<std::string>& words, const ScratchFile& input, const ScratchFile& output,
                      std::optional<std::chrono::milliseconds> longest = {});

/// While one exists, Ctrl-C, Ctrl-\, SIGTERM and SIGHUP do not end this process; they end the child that run_child() runs with a
/// time limit. When the object is destroyed, the first signal that came takes its effect. Ignored signals, as nohup does with
/// SIGHUP, stay ignored. One object at a time; make it before whatever should be cleaned up first.
class DelayedSignals {
  public:
    DelayedSignals();
    ~DelayedSignals();
    DelayedSignals(const DelayedSignals&) = delete;
    DelayedSignals& operator=(const DelayedSignals&) = delete;
};

/// The SHA-256 (FIPS 180-4) of a text as 64 hexadecimal digits, computed by coreutils' sha256sum: core/digest.h detects
/// accidents, but downloads must be protected against tampering, and a library for one call per file would be another dependency.
/// Error if the program is missing.
std::string sha256(std::string_view text);

}  // namespace heddle::app
