// Reads and writes that wait where the system says "not now": descriptors may be shared with a program that made them
// non-blocking.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace heddle {

/// read(2): the next bytes at the front of `room`, and their number; 0 at the end. Repeated when a signal interrupts it, and when
/// a non-blocking descriptor has nothing yet, once it has. Negative, with errno, when reading fails.
std::ptrdiff_t read_waiting(int descriptor, std::span<char> room);

/// write(2) of all the bytes, as patient as read_waiting(). False, with errno, when writing fails; some bytes may be written
/// then.
bool write_waiting(int descriptor, std::string_view bytes);

}  // namespace heddle
