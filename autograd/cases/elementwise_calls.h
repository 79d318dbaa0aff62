// The calls of elementwise's kernels for the tests of every op.
#pragma once

#include <vector>

#include "autograd/cases/kernel_case.h"

namespace heddle::cases {

/// Every function of one and of two numbers, forward and backward, comparisons, logical functions, where and accumulate: equal
/// shapes and broadcast ones, whole vectors and not.
std::vector<KernelCase> elementwise_calls();

}  // namespace heddle::cases
