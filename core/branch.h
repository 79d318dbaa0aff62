// Work in a CUDA graph parallel to the current stream: a branch forks from the stream and joins it again.
#pragma once

#include <functional>
#include <vector>

#include "core/tensor.h"

namespace heddle::device {

/// While one exists, run() on this thread may put work into a branch: products whose results are needed later then use the
/// multiprocessors that the stream's own work leaves idle. Only while the stream is being captured (core/graph.h), since single
/// launches would gain nothing. If they are nested, the outer one takes effect, and the inner one joins when it ends.
class Branches {
  public:
    Branches();
    /// Drops unjoined work: this happens after exceptions, which invalidate the capture anyway.
    ~Branches();
    Branches(const Branches&) = delete;
    Branches& operator=(const Branches&) = delete;

    /// Runs body(), which may read only `reads` and write only `written` of the tensors that others use, and must not allocate.
    /// Its work starts after everything already in the current stream and ends before the work that follows the next join().
    /// Without Branches, or outside a capture, it runs in the current stream.
    static void run(std::vector<Tensor> reads, const Tensor& written, const std::function<void()>& body);
    /// True if a branch that was not joined yet writes to the memory of `tensor`.
    static bool writes(const Tensor& tensor);
    /// Must be called before later work in the current stream uses `tensor`: joins if a branch writes to its memory.
    static void before_use_of(const Tensor& tensor);
    /// Makes later work in the current stream wait for the branch.
    static void join();

  private:
    bool outermost_;
};

}  // namespace heddle::device
