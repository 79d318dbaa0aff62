// The vectorised CPU path of the residual connection.
#pragma once

#include "core/random.h"
#include "kernels/level.h"

namespace heddle::kernels {

/// y[r, c] = x[r, c] + sublayer[r, c] factor[r, c] for rows [begin, end); all [rows, cols]. Dropout must be active.
HEDDLE_DECLARE_LEVELS(void residual_rows(const float* x, const float* sublayer, float* y, std::int64_t begin, std::int64_t end,
                                         std::int64_t cols, const Dropout& dropout))

}  // namespace heddle::kernels
