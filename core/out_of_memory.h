// The error of an allocation.
#pragma once

#include "core/error.h"

namespace heddle {

/// An allocation failed. The message has the size and the device; the caller adds which option to reduce.
class OutOfMemory : public Error {
  public:
    using Error::Error;
};

}  // namespace heddle
