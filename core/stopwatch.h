// Timing of work on the CUDA device by the device's own clock.
#pragma once

#include <vector>

namespace heddle::device {

/// Marks moments in the current stream while the host continues to queue work, and reads them all at the end. On the emulated
/// device the times are those of the emulation, not of a GPU. Error if there is no device.
class Stopwatch {
  public:
    Stopwatch();
    ~Stopwatch();
    Stopwatch(const Stopwatch&) = delete;
    Stopwatch& operator=(const Stopwatch&) = delete;

    /// Marks the moment at which all work queued so far in the current stream is done.
    void mark();
    /// Seconds from each mark to the next (one fewer than there are marks); clears the marks. Waits for the device.
    std::vector<double> laps();

  private:
    std::vector<void*> marks_;  // cudaEvent_t
};

}  // namespace heddle::device
