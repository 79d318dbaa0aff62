// What kernels ask of global memory, counted as a chip fetches it: for a warp at a time, in sectors of 32 bytes.
//
// Seen are the accesses of the device layer: vectors (load_vector, store_vector, of one element, too) and asynchronous copies. A
// plain *pointer is not seen, and neither are the caches: a sector that two warps ask for counts twice.
#pragma once

#include <cstdint>

namespace heddle::emulator {

struct Traffic {
    std::uint64_t accesses = 0;  ///< of warps: the n-th access of each of its lanes at one place of the source is one of the warp
    std::uint64_t bytes = 0;     ///< that threads asked for
    std::uint64_t sectors = 0;   ///< that a warp's accesses touch, each sector once an access
};

/// Counts from now on, in all launches that run. Slow; one count at a time.
void begin_traffic();
/// Ends it. Whoever counts waits for the device before.
Traffic end_traffic();

}  // namespace heddle::emulator
