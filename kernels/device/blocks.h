// How many blocks a launch needs. Host code; no CUDA header.
#pragma once

#include <cstdint>

namespace heddle::device {

/// How many blocks of `size` cover n. Error when they are more than a grid's x holds.
unsigned blocks_for(std::int64_t n, std::int64_t size);

}  // namespace heddle::device
