// Marks in streams, for their order and for their times: marks that one stream sets and others wait for, a second stream, and a
// stopwatch that goes by the device's own clock.
#pragma once

#include <vector>

namespace heddle::device {

/// A moment in a stream: all work queued before it is done (a cudaEvent_t).
class Mark {
  public:
    /// `timed`: for seconds_since().
    explicit Mark(bool timed = false) : timed_(timed) {}
    ~Mark();
    Mark(const Mark&) = delete;
    Mark& operator=(const Mark&) = delete;

    /// Sets the mark after everything in the current stream so far. During a capture (core/graph.h): after everything captured
    /// so far, and each launch of the graph sets the mark again. The mark must outlive the launches.
    void set();
    /// Makes later work in the current stream wait for the moment last set. Not in a capture. Error if it was never set.
    void wait() const;
    /// Seconds between the moments of `earlier` and of this mark. Both must be timed. Waits for both.
    double seconds_since(const Mark& earlier) const;

  private:
    bool timed_;
    void* event_ = nullptr;
};

/// An additional stream, for WithStream (core/device.h).
class SideStream {
  public:
    /// Error when there is no device.
    SideStream();
    /// Does not wait: queued work is still done.
    ~SideStream();
    SideStream(const SideStream&) = delete;
    SideStream& operator=(const SideStream&) = delete;

    void* get() const { return stream_; }

  private:
    void* stream_ = nullptr;
};

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
