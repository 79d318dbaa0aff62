// The shape checks that every op makes, with one wording.
#pragma once

#include "core/tensor.h"

namespace heddle {

/// Error "op: argument has shape [..], wanted [..]" unless the shapes agree.
void check_shape(const char* op, const char* argument, const Tensor& tensor, const Shape& wanted);
/// Error unless `tensor` is defined, on the CPU and of `dtype`.
void check_dtype(const char* op, const char* argument, const Tensor& tensor, DType wanted);
/// Error unless `tensor` has `rank` axes.
void check_rank(const char* op, const char* argument, const Tensor& tensor, int rank);
/// Error unless `tensor` is defined.
void check_defined(const char* op, const char* argument, const Tensor& tensor);

}  // namespace heddle
