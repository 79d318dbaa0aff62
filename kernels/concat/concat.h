// Tensors one after another along an axis.
//
//   forward   y[.., begin_i + k, ..] = parts[i][.., k, ..], begin_i = the sum of the extents before part i
//   backward  dparts[i] = dy's elements [begin_i, begin_i + extent_i) of the axis
#pragma once

#include <span>

#include "core/tensor.h"
#include "kernels/device/declare.h"

namespace heddle::kernels {

/// At least one part, of one dtype and rank, equal in all axes but `axis` (negative counts from the end). Error otherwise.
Tensor concat_forward(std::span<const Tensor> parts, int axis);
/// The gradient of the part that begins at `begin` and has `extent` elements along `axis`.
Tensor concat_backward(const Tensor& dy, int axis, std::int64_t begin, std::int64_t extent);

// ---- the CUDA side (concat.cu): arguments are checked and results allocated by concat.cpp

/// y = the parts one after another along `axis`, 0 or more; elements of any dtype.
HEDDLE_CUDA_FUNCTION(void concat_forward_cuda(std::span<const Tensor> parts, int axis, Tensor& y))

}  // namespace heddle::kernels
