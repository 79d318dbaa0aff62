// Runs an example of `heddle explain`.
#pragma once

#include <cstdint>
#include <vector>

#include "apps/explain/examples.h"
#include "apps/explain/explanation.h"

namespace heddle::explain {

/// Runs the example on the emulated device. An empty `shape` means the default. UsageError for a shape of the wrong rank or
/// extents; Error when it is too large to be traced.
Explanation explained(const Example& example, std::vector<std::int64_t> shape);

}  // namespace heddle::explain
