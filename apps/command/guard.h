// The outermost function of a program: turns exceptions into messages and exit statuses.
#pragma once

#include <functional>

namespace heddle::app {

/// Calls `run` and returns its exit status. An exception becomes one line on stderr and a status: 2 for UsageError, 3 for
/// Divergence, 1 for everything else; 141, without a line, when the reader of stdout has closed the pipe. Failing to write
/// results to stdout is an error, too.
int guarded(const std::function<int()>& run);

}  // namespace heddle::app
