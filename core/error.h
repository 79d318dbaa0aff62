// The errors of the project. Free of fmt, so that every compiler (nvcc included) can read it.
#pragma once

#include <stdexcept>
#include <string>

namespace heddle {

/// Base of all errors of Heddle. The message says what was given, what was expected and what to do.
class Error : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// Throws Error(message).
[[noreturn]] void fail(const std::string& message);

/// A usage error: a wrong option, setting or name. Programs end with status 2 after it, with 1 after any other Error.
class UsageError : public Error {
  public:
    using Error::Error;
};

/// Throws a UsageError unless `good`.
inline void check_usage(bool good, const std::string& message) {
    if (!good) throw UsageError(message);
}

}  // namespace heddle
