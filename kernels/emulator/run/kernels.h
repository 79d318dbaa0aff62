// Names of kernels that the program itself gives (cuda/launch.h).
#pragma once

#include <string>

#include "kernels/emulator/cuda/launch.h"

namespace heddle::emulator {

/// Gives a name to a kernel that is not registered.
void name_kernel(const void* address, const std::string& name);
/// The name that the program's code gives, with the arguments of a template: "rows_kernel<float>"; "" if none is known.
std::string given_name(const void* kernel);

}  // namespace heddle::emulator
