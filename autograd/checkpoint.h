// Activation checkpointing: forget what backward needs, and compute it again.
#pragma once

#include "autograd/tape.h"

namespace heddle {

/// Runs `function(inputs)` without recording its inside; backward runs it again on a tape of its own, with the random keys of the
/// first run (the same dropout masks), and goes back through that. Leaves used inside (parameters) receive their gradients as
/// usual. Memory for time: what the inside would have saved is not kept between forward and backward.
Variable checkpoint(const std::function<Variable(std::span<const Variable>)>& function, const std::vector<Variable>& inputs,
                    Where where = Where::current());

}  // namespace heddle
