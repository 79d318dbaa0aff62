// Checks of device memory used by host-side operations: copies, fills, cuBLASLt's products.
#pragma once

#include <string>

#include "kernels/emulator/runtime/streams.h"

namespace heddle::emulator {

/// "reads 400 bytes from 12 bytes into an allocation of 100 bytes made at ..: 312 bytes too many" if the bytes are not all in one
/// live allocation, else "". `what` is the first word.
std::string device_error(const Rows& rows, const std::string& what);
/// Throws Violation if device memory is not allocated, or, in a checked build, if memory is read that was never written.
void check_device(const Rows& rows, bool written);
/// Records that the operation has written the rows.
void wrote(const Rows& rows);

}  // namespace heddle::emulator
