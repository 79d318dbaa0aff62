// Other programs as child processes, with no shell between.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::app {

/// A file without a name: nothing of it stays on the disk, however this program ends.
class ScratchFile {
  public:
    /// Error when the folder for temporary files has no room.
    explicit ScratchFile(std::string_view content = "");

    /// Positioned at the start of the file until something reads from it.
    int descriptor() const { return fileno(file_.get()); }
    void rewind() const;
    /// All of it; the descriptor stands at its end then.
    std::string text() const;

  private:
    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    std::unique_ptr<std::FILE, Close> file_;
};

struct ChildResult {
    bool found = true;   ///< false: there is no such program, and nothing ran
    int status = 0;      ///< its exit status; 128 + the signal that ended it
    std::string errors;  ///< what it wrote to stderr, as one line
};

/// Runs `words[0]`, which is looked up in PATH, with the other words as its arguments, and waits for its end. It reads `input`
/// from the beginning and writes to `output`, which stands at its beginning then. Error when no process can be started.
ChildResult run_child(const std::vector<std::string>& words, const ScratchFile& input, const ScratchFile& output);

/// The SHA-256 (FIPS 180-4) of a text as 64 hexadecimal digits, by coreutils' sha256sum: core/digest.h finds accidents, but what
/// comes over a network must withstand intent, and a library for one call a file would be one more thing to install. Error
/// without that program.
std::string sha256(std::string_view text);

}  // namespace heddle::app
