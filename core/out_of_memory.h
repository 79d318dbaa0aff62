// The error of an allocation.
#pragma once

#include <cstdint>
#include <string>

#include "core/error.h"

namespace heddle {

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
