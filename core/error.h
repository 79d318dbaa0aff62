// The errors of the project. Free of fmt, so that every compiler (nvcc included) can read it.
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

/// What was asked for is wrong: an option, a setting, an unknown word. Programs end with status 2 then, with 1 for any other
/// Error.
class UsageError : public Error {
  public:
    using Error::Error;
};

/// Throws a UsageError unless `good`.
inline void check_usage(bool good, const std::string& message) {
    if (!good) throw UsageError(message);
}

}  // namespace heddle
