// Where exceptions come from: a message names no line of the learner's file if it is thrown in a library.
#pragma once

#include <exception>
#include <span>
#include <string>

namespace heddle::learn {

/// The innermost line of `source` among `frames`, which are from backtrace(); 0 if there is none.
int innermost_line(std::span<void* const> frames, const std::string& source);

/// The line of `source` that threw this thread's last exception, or that called what threw it; 0 if there is none.
int line_of_last_throw(const std::string& source);

/// "the program throws an exception: stoi", on one line.
std::string text_of(const std::exception_ptr& thrown);

}  // namespace heddle::learn
