// `heddle explain`, in the program that contains the traced kernels.
#pragma once

#include "apps/command/commands.h"

namespace heddle::app {

/// explain list, explain NAME. Returns the exit status. UsageError, Error.
int explain_command(Arguments arguments);

}  // namespace heddle::app
