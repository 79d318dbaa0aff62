// The vectorised CPU path of the embedding, one row at a time.
#pragma once

#include "core/random.h"
#include "kernels/level.h"

namespace heddle::kernels {

/// y[c] = (scale table[c] + position[c]) factor[row, c] for c < cols; `position` may be null.
HEDDLE_DECLARE_LEVELS(void embed_row(const float* table, const float* position, float scale, float* y, std::int64_t row,
                                     std::int64_t cols, const Dropout& dropout))

}  // namespace heddle::kernels
