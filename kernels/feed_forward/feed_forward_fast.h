// The vectorised step between the two products of the backward pass.
#pragma once

#include <cstdint>

#include "kernels/level.h"

namespace heddle::kernels {

/// du = dh * scale where h > 0, else 0, in place; column_sums += the sum over the rows. dh, h [rows, cols], column_sums [cols] or
/// null.
HEDDLE_DECLARE_LEVELS(void relu_dropout_gradient(float* dh, const float* h, std::int64_t rows, std::int64_t cols, float scale,
                                                 float* column_sums))

}  // namespace heddle::kernels
