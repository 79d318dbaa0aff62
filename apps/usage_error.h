// The user's mistake, as opposed to the world's.
#pragma once

#include <string>

#include "core/error.h"

namespace heddle::app {

/// The command line or a configuration file is wrong; the program ends with status 2.
class UsageError : public Error {
  public:
    using Error::Error;
};

/// Throws a UsageError unless `good`.
inline void check_usage(bool good, const std::string& message) {
    if (!good) throw UsageError(message);
}

}  // namespace heddle::app
