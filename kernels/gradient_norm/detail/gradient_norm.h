// The CUDA side of gradient_norm.h: arguments are checked and results allocated by gradient_norm.cpp.
#pragma once

#include "kernels/device/declare.h"
#include "kernels/gradient_norm/gradient_norm.h"

namespace heddle::kernels {

/// Fills `result` f64 [2] as measure_gradients says.
HEDDLE_CUDA_FUNCTION(void measure_gradients_cuda(const Tensor& gradients, const Spans& active, double max_norm, double scale,
                                                 Tensor& result))
HEDDLE_CUDA_FUNCTION(void scale_gradients_cuda(Tensor& gradients, double factor))

}  // namespace heddle::kernels
