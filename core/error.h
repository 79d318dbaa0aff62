// The errors of the project. Free of fmt, so that every compiler (nvcc included) can read it.
#pragma once

#include <cstdint>
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

/// A failed allocation. The message has the size and the device; the caller adds which option to reduce, and to what.
class OutOfMemory : public Error {
  public:
    /// `wanted`: bytes of the allocation; `in_use`: bytes of all tensors on the device. 0 if unknown.
    explicit OutOfMemory(const std::string& what, std::int64_t wanted = 0, std::int64_t in_use = 0)
        : Error(what), wanted_(wanted), in_use_(in_use) {}

    std::int64_t wanted() const { return wanted_; }
    std::int64_t in_use() const { return in_use_; }

  private:
    std::int64_t wanted_;
    std::int64_t in_use_;
};

}  // namespace heddle
