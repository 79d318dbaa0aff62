// What the answer defines, and how it is called.
#pragma once

#include "autograd/tape.h"

using heddle::DType;
using heddle::Gradients;
using heddle::record;
using heddle::Tensor;
using heddle::Variable;
using heddle::Where;

/// z = x y, element by element; a node of the tape if one of them needs a gradient.   x, y and z: f64, all of one shape.
Variable product(const Variable& x, const Variable& y);
