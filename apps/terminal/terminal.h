// What a command writes: results on stdout, everything else on stderr.
#pragma once

#include <string>
#include <string_view>

namespace heddle::app {

/// Writes `text` to stdout; waits where that is a non-blocking descriptor that takes no more yet. std::system_error when that
/// fails. With EPIPE, when the reader has closed the pipe, main ends the program silently with the status `nobody_reads`.
void print(const std::string& text);

/// The text as a terminal can show it: control characters (but line ends and tabs), characters that draw nothing, such as those
/// that turn the direction of writing, unless they shape a letter or an emoji before them, and bytes that are not UTF-8 become
/// \x1b, \u202e, ... They may come from untrusted files, and a terminal would interpret them.
std::string terminal_text(std::string_view text);

/// Writes a line to stderr, as terminal_text: a note, not a result. False, with errno, when that fails, a closed pipe included:
/// no program ends because of it.
bool say(std::string_view line);
/// Writes text to stderr as it is, escape sequences included. False, with errno, when that fails.
bool say_raw(std::string_view text) noexcept;

/// The text in lines of up to 100 bytes, broken at spaces; a longer word stays whole. No line end after the last one.
std::string wrapped(std::string_view text);

/// Each line of the text four columns further to the right; after the last one stands a line end, whether it had one or not.
std::string indented(std::string_view text);

/// 128 + SIGPIPE: what a shell reports for a program that was ended by a closed pipe, as this one is where SIGPIPE is not
/// ignored.
inline constexpr int nobody_reads = 141;

}  // namespace heddle::app
