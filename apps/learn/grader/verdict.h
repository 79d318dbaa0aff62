// The grader's verdict, which it writes to a file as lines of "key value" for `heddle learn`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace heddle::learn {

/// An answer's requests to memory, or the limit for them; a limit of 0 is none.
struct Cost {
    std::uint64_t sectors = 0;        ///< pieces of 32 bytes of global memory, added up over all requests
    std::uint64_t requests = 0;       ///< requests of warps to global memory
    std::uint64_t shared_cycles = 0;  ///< cycles in which the banks of shared memory are busy
    std::uint64_t barriers = 0;       ///< barriers of blocks, counted once for each warp that comes to one
};

struct Verdict {
    std::string kind = "pass";  ///< "pass", "values", "race", ...: docs/learn.md lists them
    int line = 0;               ///< line of the learner's file; 0: no single line
    int other_line = 0;         ///< line of a race's earlier access
    std::string text;           ///< one line
    std::string shape = {};     ///< the sizes that show it: "n = 33"; may be empty
    Cost cost = {};             ///< for a pass, and for an answer that is right but costs too much

    bool passed() const { return kind == "pass"; }
};

/// Thrown when an answer is wrong.
struct Failed {
    Verdict verdict;
};
/// Throws Failed with this verdict.
[[noreturn]] void refuse(const std::string& kind, const std::string& text, int line = 0, const Cost& cost = {});

/// The verdict of a report: kind, lines in `source`, and the text without the seed. Arrays have the names with which the harness
/// allocated them.
Verdict verdict_of_report(const std::string& report, const std::string& source);

/// The text with "; " for each line break and the blanks behind it.
std::string on_one_line(const std::string& text);

/// The text with "SOURCE:" for each "FOLDERS/SOURCE:".
std::string without_folders(std::string text, const std::string& source);

/// The number behind the first "SOURCE:"; 0 if there is none.
int line_in(std::string_view text, std::string_view source);
/// The same from position `from` on, which moves behind that "SOURCE".
int line_in(std::string_view text, std::string_view source, std::size_t& from);

/// Replaces the file. False if it cannot be written.
bool write_verdict(const Verdict& verdict, const std::string& path);
/// Reads a file of write_verdict(); nothing if it is missing or incomplete.
std::optional<Verdict> read_verdict(const std::string& path);

}  // namespace heddle::learn
