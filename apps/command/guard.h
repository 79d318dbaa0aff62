// The outermost function of a program.
#pragma once

#include <functional>

namespace heddle::app {

/// Calls `run` and returns its exit status. An exception becomes one line on stderr and a status: 2 for UsageError, 3 for
/// Divergence, 1 for everything else; 141 without a line when the reader of stdout has closed the pipe. Results that cannot be
/// written to stdout are an error, too.
int guarded(const std::function<int()>& run);

}  // namespace heddle::app
