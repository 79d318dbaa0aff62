// Watches a learner's program: a violation of the limits of time and memory, or a crash, ends the process with a verdict that
// names the line of the learner's file that was running. Finds the line that threw an exception, too.
#pragma once

#include <exception>
#include <functional>
#include <string>

namespace heddle::learn {

struct Limits {
    int seconds = 5;  ///< limits processor time and time of waiting; elapsed time is limited to twice as much and 30 s
    std::size_t memory = 1 << 30;   ///< bytes in use
    std::size_t printed = 1 << 16;  ///< bytes of output; more is lost
};

/// Watches this process from now on; kernels must run on the calling thread. Called once. On a violation of the limits, and on
/// SIGABRT, SIGILL, SIGBUS, SIGTRAP and, outside of kernels, SIGSEGV and SIGFPE, it writes a verdict to `result` and ends the
/// process with status 0. Before that it calls `at_the_end` if the kernel was stopped in a line of `source`: once after a crash,
/// otherwise until it returns true, up to 20 times, a few milliseconds apart.
void watch(const Limits& limits, const std::string& source, const std::string& result, const std::function<bool()>& at_the_end);

/// Removes the limit that watch() set on what this process may write. Call it when the answer no longer runs, before writing a
/// large file.
void lift_print_limit();

/// Discards the answer's output from now on. The answer is run many times, but its output is shown once.
void stop_printing();

/// Discards the answer's output so far, if stdout is a file.
void restart_printing();

/// The line of `source` that threw this thread's last exception, or that called the library which threw it; 0 if there is none.
int line_of_last_throw(const std::string& source);

/// "the program throws an exception: stoi", on one line.
std::string text_of(const std::exception_ptr& thrown);

}  // namespace heddle::learn
