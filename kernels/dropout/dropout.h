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

namespace heddle::kernels {

/// x f32 or f64 (on CUDA bf16, too) of any shape, seen as [rows, cols] with its last extent as cols. The same handle when dropout
/// is not active.
Tensor dropout_forward(const Tensor& x, const Dropout& dropout);
/// dx for dy; shapes and dtypes as forward.
Tensor dropout_backward(const Tensor& dy, const Dropout& dropout);

}  // namespace heddle::kernels
