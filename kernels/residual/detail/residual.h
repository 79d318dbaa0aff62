// What stands below residual.cpp: the vectorised CPU path and the CUDA side.
#pragma once

#include "core/random.h"
#include "kernels/device/declare.h"
#include "kernels/level.h"
#include "kernels/residual/residual.h"

namespace heddle::kernels {

// ---- the vectorised CPU path (residual_fast.cpp)

/// y[r, c] = x[r, c] + sublayer[r, c] factor[r, c] for rows [begin, end); all [rows, cols]. Dropout must be active.
HEDDLE_DECLARE_LEVELS(void residual_rows(const float* x, const float* sublayer, float* y, std::int64_t begin, std::int64_t end,
                                         std::int64_t cols, const Dropout& dropout))

// ---- the CUDA side: arguments are checked and results allocated by residual.cpp

/// y = x + sublayer factor
HEDDLE_CUDA_FUNCTION(void residual_cuda(const Tensor& x, const Tensor& sublayer, const Dropout& dropout, Tensor& y))

}  // namespace heddle::kernels
