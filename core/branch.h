// Work beside the current stream's in a CUDA graph: a branch that forks from the stream and joins it again.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/tensor.h"

namespace heddle::device {

/// While one exists, run() on this thread may put work into a branch: products whose results are not needed soon then fill the
/// multiprocessors that the stream's own work leaves idle. Only while the stream is being captured (core/graph.h): single
/// launches would gain nothing from it. When they are nested, the outer one takes effect and the inner one joins when it ends.
class Branches {
  public:
    Branches();
    /// Drops what was not joined: for exceptions, which spoil the capture anyway.
    ~Branches();
    Branches(const Branches&) = delete;
    Branches& operator=(const Branches&) = delete;

    /// Runs body(), which may read only `reads` and write only `written` of the tensors that others use, and must not allocate.
    /// Its work starts after everything already in the current stream and ends before what follows the next join(). Without
    /// Branches, or when nothing is captured, it runs in the current stream.
    static void run(std::vector<Tensor> reads, const Tensor& written, const std::function<void()>& body);
    /// Whether a branch that was not joined yet writes to memory of `tensor`.
    static bool writes(const Tensor& tensor);
    /// To be called before later work in the current stream uses `tensor`: joins when a branch writes to its memory.
    static void before_use_of(const Tensor& tensor);
    /// Later work in the current stream waits for the branch.
    static void join();

  private:
    bool outermost_;
};

}  // namespace heddle::device
