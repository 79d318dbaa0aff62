// The error of an allocation.
#pragma once

#include "core/error.h"

namespace heddle {

/// There is less memory than was asked for. The message says how much that was and where; what is to be made smaller is known to
/// those who asked for the work.
class OutOfMemory : public Error {
  public:
    using Error::Error;
};

}  // namespace heddle
