// Guard bytes around every tensor on a GPU, and poison inside. The emulated device detects accesses outside of tensors itself.
#pragma once

#include <string>

namespace heddle {

/// From now on each tensor on CUDA lies between guard bytes and is filled with 0xff, a NaN, so that elements which a kernel does
/// not write show in results. Must be called before the first tensor is made. On a GPU all device tests except device_core's do
/// so, unless HEDDLE_UNGUARDED_MEMORY is set, and check the guards after each test.
void guard_device_memory();
/// The damaged guard bytes of all tensors, living or destroyed since the last call; "" if there are none. Waits for the device.
std::string damaged_guards();

}  // namespace heddle
