// A part of a tensor along one axis.
//
//   forward   y[.., k, ..] = x[.., begin + k, ..] for k < end - begin
//   backward  dx[.., begin + k, ..] = dy[.., k, ..], 0 elsewhere
#pragma once

#include "core/tensor.h"

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

}  // namespace heddle::kernels
