// What the answer defines, and how it is called.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "autograd/tape.h"

using heddle::backward;
using heddle::DType;
using heddle::Tensor;
using heddle::Variable;

/// A function on the tape, with a backward of its own. Its result may have any shape; f64.
using Function = std::function<Variable(std::span<const Variable>)>;

/// Whether backward of `function` is right at `inputs` (f64), which are left as they are. A wrong one is off by 1 % of the
/// input's largest derivative or more, in some element of some gradient; a right one only by rounding.
bool gradient_is_right(const Function& function, const std::vector<Tensor>& inputs);
