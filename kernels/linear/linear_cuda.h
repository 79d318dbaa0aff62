// The CUDA side of the linear map. Its products are kernels/matmul/product_cuda.h; this is what stands beside them.
#pragma once

#include "core/tensor.h"
#include "kernels/device/declare.h"

namespace heddle::kernels {

/// dbias [cols] += the sum of dy [rows, cols] over its rows. dbias has dy's dtype, or is f32 for a bf16 dy. Same bits at each
/// run.
HEDDLE_CUDA_FUNCTION(void linear_backward_bias_cuda(const Tensor& dy, Tensor& dbias))

}  // namespace heddle::kernels
