// Runs an example of `heddle explain`.
#pragma once

#include <cstdint>
#include <vector>

#include "apps/explain/examples.h"
#include "apps/explain/explanation.h"

namespace heddle::explain {

/// Runs the example on the emulated device. `shape` empty: the default. UsageError for a shape that does not fit; Error when the
/// shape is too large to be traced.
Explanation explained(const Example& example, std::vector<std::int64_t> shape);

}  // namespace heddle::explain
