// Reads and writes that also wait on non-blocking descriptors, which other programs that share them may have set.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace heddle {

/// read(2): puts the next bytes at the front of `room` and returns their number; 0 at the end. Repeats after signals, and waits
/// if a non-blocking descriptor has no data yet. Negative, with errno, when reading fails.
std::ptrdiff_t read_waiting(int descriptor, std::span<char> room);

/// write(2) of all the bytes, repeating and waiting like read_waiting(). False, with errno, when writing fails; some bytes may
/// have been written.
bool write_waiting(int descriptor, std::string_view bytes);

}  // namespace heddle
