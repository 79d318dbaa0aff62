// Work beside the current stream's in a CUDA graph: a branch that forks from the stream and joins it again.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/tensor.h"

namespace heddle::device {

/// While one exists, run() on this thread may put work into a branch: products whose results nobody needs soon then fill the
/// multiprocessors that the stream's own work leaves idle. Only while the stream is being captured (core/graph.h): a launch by
/// launch would gain nothing from it. Of two nested ones the outer one counts, and the inner one joins.
class Branches {
  public:
    Branches();
    /// Drops what was not joined: for exceptions, which spoil the capture anyway.
    ~Branches();
    Branches(const Branches&) = delete;
    Branches& operator=(const Branches&) = delete;

    /// Runs body(), which reads the tensors `reads` and writes `written` and nothing else that others use. Its work comes after
    /// all that is in the current stream now, and before what comes behind the next join(). Without Branches, or when nothing is
    /// captured, in the current stream.
    static void run(std::vector<Tensor> reads, const Tensor& written, const std::function<void()>& body);
    /// Work that comes now into the current stream may use `tensor` again: joins when a branch writes to its memory.
    static void before_use_of(const Tensor& tensor);
    /// What comes now into the current stream comes after the branch.
    static void join();

  private:
    bool outermost_;
};

}  // namespace heddle::device
