// Guard bytes around every tensor on a GPU, and poison in it. The emulated device sees each access outside of a tensor by itself.
#pragma once

#include <string>

namespace heddle {

/// From now on each tensor on CUDA lies between guard bytes and starts as 0xff, a NaN: what a kernel leaves out shows up in
/// results. Before the first one. All device tests but device_core's do so on a GPU, unless HEDDLE_UNGUARDED_MEMORY is
/// set, and look at the guards behind each test.
void guard_device_memory();
/// Which guard bytes were overwritten, of the tensors that live and of those that were dropped since the last call; "" when none
/// were. Waits for the device.
std::string damaged_guards();

}  // namespace heddle
