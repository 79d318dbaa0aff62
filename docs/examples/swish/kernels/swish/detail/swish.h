// What swish.cpp calls: the vectorised CPU path and the CUDA side.
#pragma once

#include "kernels/device/declare.h"
#include "kernels/level.h"
#include "kernels/swish/swish.h"

namespace heddle::kernels {

/// The vectorised CPU path: forward for n elements of one row, backward for the columns [begin, end) of all rows.
HEDDLE_DECLARE_LEVELS(void swish_row(const float* x, const float* beta, float* y, std::int64_t n))
HEDDLE_DECLARE_LEVELS(void swish_columns(const float* dy, const float* x, const float* beta, float* dx, float* dbeta,
                                         std::int64_t rows, std::int64_t cols, std::int64_t begin, std::int64_t end))

HEDDLE_CUDA_FUNCTION(void swish_forward_cuda(const Tensor& x, const Tensor& beta, Tensor& y))
HEDDLE_CUDA_FUNCTION(void swish_backward_cuda(const Tensor& dy, const Tensor& x, const Tensor& beta, Tensor& dx, Tensor dbeta))

}  // namespace heddle::kernels
