// Measures how long each kind of op takes.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/observe.h"
#include "core/device.h"

namespace heddle {

/// All ops with one name, forward and backward, in seconds.
struct OpTime {
    std::string op;
    std::int64_t calls = 0;
    double forward = 0;
    double backward = 0;

    double total() const { return forward + backward; }
};

/// While one exists, the ops of this thread are timed, recorded or not: each gets the time since the op before it. On a device
/// every op is synchronised, so work that usually overlaps is timed sequentially. Of two nested timers the inner one is active,
/// and an ObserveOps inside it hides the forward passes from it.
class OpTimer {
  public:
    OpTimer();
    ~OpTimer();
    OpTimer(const OpTimer&) = delete;
    OpTimer& operator=(const OpTimer&) = delete;

    /// Restarts the clock: time up to now is not attributed to an op.
    void start();
    /// The times of all ops so far, the longest first.
    std::vector<OpTime> times() const;

    /// Called by the tape after an op's backward. Does nothing without a timer on this thread.
    static void backward_done(const char* op, Device device) {
        if (current_ != nullptr) current_->note(op, true, device);
    }

    /// True if this thread's ops are timed.
    static bool timing() { return current_ != nullptr; }

  private:
    using Clock = std::chrono::steady_clock;

    void note(std::string_view op, bool backward, Device device);

    static thread_local OpTimer* current_;
    OpTimer* before_;
    ObserveOps forward_;
    Clock::time_point last_;
    std::map<std::string, OpTime> times_;
};

}  // namespace heddle
