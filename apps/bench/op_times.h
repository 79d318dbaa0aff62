// Timing of ops on the CPU and on the device.
#pragma once

#include <string>

#include "apps/bench/op_cases.h"

namespace heddle::app {

/// Medians over the repetitions, in seconds.
struct OpTimes {
    double forward = 0;
    double backward = 0;     ///< 0 if the op has none
    double host = 0;         ///< on the device: time the host needs to queue one run of both; 0 on the CPU
    std::int64_t waits = 0;  ///< how often the host waits for the device in one run of both, which keeps it from queueing ahead
    std::int64_t samples = 0;
    bool graphs = false;  ///< whether CUDA graphs were replayed
};

/// Runs the case for `seconds`, at least five times, on the CPU. By the host's clock, the first run left out.
OpTimes measure_on_cpu(const BenchCase& one, double seconds);

/// Times ops on the current CUDA device by the device's clock. All samples of a case are queued before the host waits for the
/// first. Before each sample the device overwrites memory for as long as the host needs to queue the sample, which also empties
/// the L2 cache. A sample is one run; if a run takes less than a millisecond and moves less than 64 MB, it is ten in a row, as a
/// CUDA graph where the op can be captured; all but the first then find their data in the L2 cache if it fits.
class DeviceTimer {
  public:
    DeviceTimer();
    OpTimes measure(const BenchCase& one, double seconds);
    /// Bytes read and written by a copy within the device, in GB/s.
    double copy_gb_second() const { return copy_gb_second_; }
    /// How times are measured, as a sentence.
    std::string method() const;

  private:
    void keep_busy(std::int64_t times);

    Tensor idle_;
    double idle_seconds_ = 0;  // time to overwrite it once
    double copy_gb_second_ = 0;
};

}  // namespace heddle::app
