// What the answer defines, and how it is called.
#pragma once

#include "autograd/tape.h"

using heddle::DType;
using heddle::Gradients;
using heddle::record;
using heddle::Tensor;
using heddle::Variable;
using heddle::Where;

/// y[r, c] = gamma[c] n[r, c] + beta[c], where n[r, c] = (x[r, c] - mean) / sqrt(variance + 1e-5) with the mean and the variance
/// of row r; a node of the tape.   x and y [rows, cols], gamma and beta [cols], all f64.
Variable layer_norm(const Variable& x, const Variable& gamma, const Variable& beta);
