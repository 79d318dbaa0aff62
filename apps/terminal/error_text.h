// User-readable texts of errors.
#pragma once

#include <exception>
#include <string>

namespace heddle::app {

/// The message when no thread can be started.
inline constexpr const char* no_further_thread =
    "the system starts no further thread: memory or a limit of processes (ulimit -u); end other programs, or let this one have "
    "more";

/// The error's own text. The standard library's texts are replaced where they name a function instead of a cause: an error of the
/// file system names the path and the reason, one of starting a thread says no_further_thread.
std::string error_text(const std::exception& error);

}  // namespace heddle::app
