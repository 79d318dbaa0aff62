// Sums, means and maxima over an axis: the oracle of the fused ops, and building blocks for users.
//
//   op    y                                  gradient for dy
//   sum   sum_k x[.., k, ..]                 dx[.., k, ..] = dy
//   mean  sum_k x[.., k, ..] / n             dx[.., k, ..] = dy / n
//   max   max_k x[.., k, ..]                 dx[.., k, ..] = dy where k is the first maximum, else 0
//   min   min_k x[.., k, ..]                 dx[.., k, ..] = dy where k is the first minimum, else 0
//   prod  the product over k of x[.., k, ..]  dx[.., k, ..] = dy times the product of the others
//
// Sums are added up in f64 in an order that depends on the shape alone: an output's bits do not depend on the threads.
#pragma once

#include "core/tensor.h"
#include "kernels/device/declare.h"

namespace heddle::kernels {

/// x f32 or f64 with at least one axis; `axis` may be negative and counts from the end then. The axis stays with extent 1 when
/// `keep`. The sum over an empty axis is 0; its mean is an Error.
Tensor sum_forward(const Tensor& x, int axis, bool keep = false);
Tensor mean_forward(const Tensor& x, int axis, bool keep = false);
/// dx of x's shape for dy (with or without the kept axis).
Tensor sum_backward(const Tensor& dy, const Shape& x_shape, int axis);
Tensor mean_backward(const Tensor& dy, const Shape& x_shape, int axis);

/// The largest numbers along an axis, or the smallest.
struct Extremum {
    Tensor y;
    Tensor indices;  ///< i32 of y's shape: the first place of the number along the axis
};
/// A NaN counts as larger than every number, and for the minimum as smaller. Error when the axis is empty.
Extremum max_forward(const Tensor& x, int axis, bool keep = false);
Extremum min_forward(const Tensor& x, int axis, bool keep = false);
/// Of the minimum, too.
Tensor max_backward(const Tensor& dy, const Tensor& indices, const Shape& x_shape, int axis);

/// The sum of all elements, a scalar: blocks of fixed length in f64, then the blocks in order.
Tensor sum_all_forward(const Tensor& x);
/// dx of x's shape: dy everywhere.
Tensor sum_all_backward(const Tensor& dy, const Shape& x_shape);

/// The product along an axis, 1 over an empty one; and dx for dy, exact where zeros are among the factors.
Tensor prod_forward(const Tensor& x, int axis, bool keep = false);
Tensor prod_backward(const Tensor& dy, const Tensor& x, int axis);
/// y[.., k, ..] = the sum of x[.., 0, ..] to x[.., k, ..]; with `from_end` of x[.., k, ..] to the last, which is its backward.
Tensor cumsum(const Tensor& x, int axis, bool from_end);

/// Sums x over the axes along which `shape` would be repeated to give x's shape: backward of broadcasting. The same handle when
/// the shapes agree. Error when `shape` does not broadcast to x's.
Tensor sum_to(const Tensor& x, const Shape& shape);

// ---- the CUDA side (reduce.cu): arguments are checked and results allocated by reduce.cpp. Shapes are seen as [outer, n, inner]
// with the reduced axis in the middle, results as [outer, inner].

/// An axis in the middle of a shape.
struct MiddleAxis {
    std::int64_t outer = 1, n = 1, inner = 1;
};

/// y = factor times the sum of x along the axis.
HEDDLE_CUDA_FUNCTION(void sum_cuda(const Tensor& x, const MiddleAxis& axis, double factor, Tensor& y))
/// y = the maxima or minima, indices i32 = their first places. The axis is not empty.
HEDDLE_CUDA_FUNCTION(void extremum_cuda(const Tensor& x, const MiddleAxis& axis, bool smallest, Tensor& y, Tensor& indices))
/// y [outer, inner] = the products of x.
HEDDLE_CUDA_FUNCTION(void prod_cuda(const Tensor& x, const MiddleAxis& axis, Tensor& y))
/// dx[o, k, j] = dy[o, j] times the product of x[o, i, j] for all i but k.
HEDDLE_CUDA_FUNCTION(void prod_backward_cuda(const Tensor& dy, const Tensor& x, const MiddleAxis& axis, Tensor& dx))
HEDDLE_CUDA_FUNCTION(void cumsum_cuda(const Tensor& x, const MiddleAxis& axis, bool from_end, Tensor& y))
/// dx[o, k, j] = factor dy[o, j], and with indices (i32, or undefined) only where k is indices[o, j], else 0.
HEDDLE_CUDA_FUNCTION(void spread_cuda(const Tensor& dy, const Tensor& indices, double factor, const MiddleAxis& axis, Tensor& dx))

}  // namespace heddle::kernels
