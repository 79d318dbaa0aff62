// The time that something took.
#pragma once

#include <chrono>

namespace heddle::app {

/// Seconds from `start` until now.
inline double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace heddle::app
