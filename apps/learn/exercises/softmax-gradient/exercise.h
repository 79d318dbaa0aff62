// What the answer defines, and how it is called.
#pragma once

#include "autograd/tape.h"

using heddle::DType;
using heddle::Gradients;
using heddle::record;
using heddle::Tensor;
using heddle::Variable;
using heddle::Where;

/// y[r, ..] = the softmax of x[r, ..]: e^x[r, c] divided by the sum over k of e^x[r, k]; a node of the tape.   x and y [rows,
/// cols], f64.
Variable softmax(const Variable& x);
