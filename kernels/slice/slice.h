// A part of a tensor along one axis.
//
//   forward   y[.., k, ..] = x[.., begin + k, ..] for k < end - begin
//   backward  dx[.., begin + k, ..] = dy[.., k, ..], 0 elsewhere
#pragma once

#include "core/tensor.h"
#include "kernels/device/declare.h"

namespace heddle::kernels {

/// x of any dtype; elements [begin, end) of `axis` (negative counts from the end). A copy; Tensor::slice is the view along the
/// first axis. Error when the range leaves the axis.
Tensor slice_forward(const Tensor& x, int axis, std::int64_t begin, std::int64_t end);
/// The same written into `y`, of the slice's shape and x's dtype and device.
void slice_into(const Tensor& x, int axis, std::int64_t begin, std::int64_t end, Tensor y);
/// Adds dy to elements [begin, begin + extent of dy) of `axis` of dx; f32 or f64.
void slice_backward(const Tensor& dy, int axis, std::int64_t begin, Tensor& dx);

/// The inverse: overwrites elements [begin, begin + extent of part) of `axis` of y with `part`.
void place_slice(const Tensor& part, int axis, std::int64_t begin, Tensor& y);

// ---- the CUDA side (slice.cu): arguments are checked and results allocated by slice.cpp

/// Two tensors that differ in one axis, seen as [outer, run]: part's run of elements lies at `offset` in whole's longer one.
struct SliceRuns {
    std::int64_t outer = 1, part = 0, whole = 0, offset = 0;
};

/// part = the runs out of whole, or the runs in whole = part, for elements of any dtype.
HEDDLE_CUDA_FUNCTION(void take_runs_cuda(const Tensor& whole, const SliceRuns& runs, Tensor& part))
HEDDLE_CUDA_FUNCTION(void place_runs_cuda(const Tensor& part, const SliceRuns& runs, Tensor& whole))
/// The runs in whole += part.
HEDDLE_CUDA_FUNCTION(void add_runs_cuda(const Tensor& part, const SliceRuns& runs, Tensor& whole))

}  // namespace heddle::kernels
