// The one error type of the project. Free of fmt, so that every compiler (nvcc included) can read it.
#pragma once

#include <stdexcept>
#include <string>

namespace heddle {

/// Everything that Heddle reports: the message names what was given, what was wanted and what to do.
class Error : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// Throws Error(message).
[[noreturn]] void fail(const std::string& message);

}  // namespace heddle
