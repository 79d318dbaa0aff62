// The time that something took.
#pragma once

#include <algorithm>
#include <chrono>

namespace heddle::app {

/// Seconds from `start` until now; 0 where the clock ran backwards, as the steady one does under some virtual machines.
inline double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::max(0.0, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
}

/// Counts the time since it was made; ignores backward clock jumps.
class Stopwatch {
  public:
    /// Seconds until now.
    double seconds() {
        const auto now = std::chrono::steady_clock::now();
        total_ += std::max(0.0, std::chrono::duration<double>(now - last_).count());
        last_ = now;
        return total_;
    }

  private:
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
    double total_ = 0;
};

}  // namespace heddle::app
