// How long an op takes.
#pragma once

#include <string>

#include "apps/bench/op_cases.h"

namespace heddle::app {

/// Medians over the repetitions, in seconds.
struct OpTimes {
    double forward = 0;
    double backward = 0;     ///< 0 when the op has none
    double host = 0;         ///< on the device: what the host takes to queue one run of both; 0 on the CPU
    std::int64_t waits = 0;  ///< how often the host waits for the device in one run of both: then it cannot queue ahead
    std::int64_t samples = 0;
    bool graphs = false;  ///< whether CUDA graphs were replayed
};

/// Runs the case for `seconds`, at least five times, on the CPU. By the host's clock, the first run left out.
OpTimes measure_on_cpu(const BenchCase& one, double seconds);

/// The times of ops on the current CUDA device, by its own clock. All samples of a case are queued before the host waits for the
/// first: before each sample the device overwrites some memory as often as it takes for the host to queue the sample meanwhile,
/// which also empties the L2 cache. A sample is one run; or ten one after another when one takes less than a millisecond and
/// moves less than 64 MB, as a CUDA graph where the op can be captured, the data of all but the first then in the L2 cache if it
/// fits there.
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
    double idle_seconds_ = 0;  // of overwriting it once
    double copy_gb_second_ = 0;
};

}  // namespace heddle::app
