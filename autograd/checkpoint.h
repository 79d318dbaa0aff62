// Activation checkpointing: backward recomputes intermediate values instead of keeping them.
#pragma once

#include "autograd/tape.h"

namespace heddle {

/// Runs `function(inputs)` without recording its ops; backward runs it again on a separate tape, with the random keys of the
/// first run (the same dropout masks), and then backward through that. Leaves used inside (parameters) receive their gradients
/// as usual. Saves memory for time: the tensors that those ops would have saved are not kept between forward and backward.
Variable checkpoint(const std::function<Variable(std::span<const Variable>)>& function, const std::vector<Variable>& inputs,
                    Where where = Where::current());

}  // namespace heddle
