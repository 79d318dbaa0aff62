// The vectorised CPU path of dropout.
#pragma once

#include "core/random.h"
#include "kernels/level.h"

namespace heddle::kernels {

/// y[r, c] = x[r, c] factor[r, c] for rows [begin, end); x, y [rows, cols]. y may be x.
HEDDLE_DECLARE_LEVELS(void dropout_rows(const float* x, float* y, std::int64_t begin, std::int64_t end, std::int64_t cols,
                                        const Dropout& dropout))

}  // namespace heddle::kernels
