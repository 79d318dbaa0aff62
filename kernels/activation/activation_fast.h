// The vectorised CPU path of GELU.
#pragma once

#include <cstdint>

#include "kernels/level.h"

namespace heddle::kernels {

/// y[i] = gelu(x[i]) for i < n.
HEDDLE_DECLARE_LEVELS(void gelu_values(const float* x, float* y, std::int64_t n, bool tanh_form))
/// dx[i] = dy[i] gelu'(x[i]) for i < n.
HEDDLE_DECLARE_LEVELS(void gelu_gradients(const float* dy, const float* x, float* dx, std::int64_t n, bool tanh_form))

}  // namespace heddle::kernels
