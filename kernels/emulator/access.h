// Device memory as host-side operations use it: copies, fills, cuBLASLt's products.
#pragma once

#include <string>

#include "kernels/emulator/streams.h"

namespace heddle::emulator {

/// "reads 400 bytes from 12 bytes into an allocation of 100 bytes made at ..: 312 bytes too many" when the bytes do not lie in
/// one living allocation, else "". `what` is the first word.
std::string device_error(const Rows& rows, const std::string& what);
/// Throws Violation for device memory that does not live, and for memory read that was never written (a checked build knows).
void check_device(const Rows& rows, bool written);
/// The operation has written the rows.
void wrote(const Rows& rows);

}  // namespace heddle::emulator
