// Dropout: in training a random part of the elements becomes zero, and the others are scaled up to keep the mean.
//
//   forward   y[r, c]  = x[r, c]  factor[r, c]
//   backward  dx[r, c] = dy[r, c] factor[r, c]
//   factor[r, c] = 65536 / (65536 - threshold) where Dropout::keeps_row(r, c), else 0
//
// Source: Srivastava, Hinton, Krizhevsky, Sutskever, Salakhutdinov, "Dropout" (JMLR 15, 2014), in the form that scales while
// training. The decisions are a function of (key, row, column) (core/random.h): backward recomputes them, nothing is saved.
#pragma once

#include "core/random.h"
#include "core/tensor.h"
#include "kernels/device/declare.h"
#include "kernels/level.h"

namespace heddle::kernels {

/// x f32 or f64 (on CUDA bf16, too) of any shape, seen as [rows, cols] with its last extent as cols. The same handle when dropout
/// is not active.
Tensor dropout_forward(const Tensor& x, const Dropout& dropout);
/// dx for dy; shapes and dtypes as forward.
Tensor dropout_backward(const Tensor& dy, const Dropout& dropout);

// ---- the vectorised CPU path (dropout_fast.cpp)

/// y[r, c] = x[r, c] factor[r, c] for rows [begin, end); x, y [rows, cols]. y may be x.
HEDDLE_DECLARE_LEVELS(void dropout_rows(const float* x, float* y, std::int64_t begin, std::int64_t end, std::int64_t cols,
                                        const Dropout& dropout))

// ---- the CUDA side (dropout.cu): arguments are checked and results allocated by dropout.cpp

/// y = x factor; dropout is active.
HEDDLE_CUDA_FUNCTION(void dropout_cuda(const Tensor& x, const Dropout& dropout, Tensor& y))

}  // namespace heddle::kernels
