// Order between streams: marks that one sets and others wait for, and a stream beside the current one.
#pragma once

namespace heddle::device {

/// A moment in a stream: all work queued before it is done (a cudaEvent_t).
class Mark {
  public:
    /// `timed`: for seconds_since().
    explicit Mark(bool timed = false) : timed_(timed) {}
    ~Mark();
    Mark(const Mark&) = delete;
    Mark& operator=(const Mark&) = delete;

    /// The moment after everything that is in the current stream now. While the stream is captured (core/graph.h): after
    /// everything captured so far, and each launch of the graph sets the mark again. The mark must outlive the launches.
    void set();
    /// Later work in the current stream waits for the moment set last. Not in a capture. Error when it was never set.
    void wait() const;
    /// Seconds from the moment of `earlier` to this one. Both must be timed. Waits for both.
    double seconds_since(const Mark& earlier) const;

  private:
    bool timed_;
    void* event_ = nullptr;
};

/// A stream of its own, for WithStream (core/device.h).
class SideStream {
  public:
    /// Error when there is no device.
    SideStream();
    /// Work that is in it is still done.
    ~SideStream();
    SideStream(const SideStream&) = delete;
    SideStream& operator=(const SideStream&) = delete;

    void* get() const { return stream_; }

  private:
    void* stream_ = nullptr;
};

}  // namespace heddle::device
