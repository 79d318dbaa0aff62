// The CUDA side of slice.h: arguments are checked and results allocated by slice.cpp.
#pragma once

#include "kernels/device/declare.h"
#include "kernels/slice/slice.h"

namespace heddle::kernels {

/// Two tensors that differ in one axis, seen as [outer, run]: part's run of elements lies at `offset` in whole's longer one.
struct Runs {
    std::int64_t outer = 1, part = 0, whole = 0, offset = 0;
};

/// part = the runs out of whole, or the runs in whole = part, for elements of any dtype.
HEDDLE_CUDA_FUNCTION(void take_runs_cuda(const Tensor& whole, const Runs& runs, Tensor& part))
HEDDLE_CUDA_FUNCTION(void place_runs_cuda(const Tensor& part, const Runs& runs, Tensor& whole))
/// The runs in whole += part.
HEDDLE_CUDA_FUNCTION(void add_runs_cuda(const Tensor& part, const Runs& runs, Tensor& whole))

}  // namespace heddle::kernels
