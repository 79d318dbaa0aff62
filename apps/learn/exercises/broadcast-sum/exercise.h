// What the answer defines, and how it is called.
#pragma once

#include "autograd/tape.h"

using heddle::DType;
using heddle::Gradients;
using heddle::record;
using heddle::Tensor;
using heddle::Variable;
using heddle::Where;

/// y[r, c] = x[r, c] + b[c]; a node of the tape if one of them needs a gradient.   x and y [rows, cols], b [cols], all f64.
Variable add_bias(const Variable& x, const Variable& b);
