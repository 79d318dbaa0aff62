// Output of commands: results on stdout, everything else on stderr.
#pragma once

#include <string>
#include <string_view>

namespace heddle::app {

/// Writes `text` to stdout; waits if it is a non-blocking descriptor that is full. std::system_error when writing fails. On
/// EPIPE (the reader closed the pipe) main ends the program silently with the status `nobody_reads`.
void print(const std::string& text);

/// The text made safe for a terminal, since it may come from untrusted files: control characters (except line ends and tabs),
/// invisible characters such as those that change the direction of writing (unless they shape a letter or an emoji before them),
/// and bytes that are not UTF-8 become \x1b, \u202e, ...
std::string terminal_text(std::string_view text);

/// Writes a note (not a result) to stderr, as terminal_text. Returns false, with errno, when that fails, also for a closed pipe,
/// which must not end the program.
bool say(std::string_view line);
/// Writes text to stderr unchanged, escape sequences included. Returns false, with errno, when that fails.
bool say_raw(std::string_view text) noexcept;

/// The text in lines of up to 100 bytes, broken at spaces; a longer word stays whole. No line end after the last one.
std::string wrapped(std::string_view text);

/// The text with each line indented by four columns and a line end after the last one.
std::string indented(std::string_view text);

/// 128 + SIGPIPE: the status a shell reports for a program killed by a closed pipe; used when SIGPIPE is ignored.
inline constexpr int nobody_reads = 141;

}  // namespace heddle::app
