// The CUDA side of the linear map. Its products are kernels/matmul/product_cuda.h; this is what stands beside them.
#pragma once

#include <span>

#include "kernels/device/declare.h"
#include "kernels/linear/linear.h"

namespace heddle::kernels {

/// dbias [cols] += the sum of dy [rows, cols] over its rows, for each of them; no two of `sums` share a dbias. A dbias has its
/// dy's dtype, or is f32 for a bf16 dy. Same bits at each run, and in whatever company. A launch for up to 16.
HEDDLE_CUDA_FUNCTION(void linear_backward_biases_cuda(std::span<BiasSum> sums))

}  // namespace heddle::kernels
