// What kernels ask of memory, counted as a chip serves it: for a warp at a time, global memory in sectors of 32 bytes, shared
// memory in cycles of its banks; and where the threads wait for each other.
//
// Seen are the accesses of the device layer: vectors (load_vector, store_vector, of one element, too), rows of ldmatrix and
// asynchronous copies. A plain *pointer is not seen (the trace of watched kernels sees it: trace.h), and neither are the caches:
// a sector that two warps ask for counts twice. For kernels without plain accesses the sums are those of the requests
// (requests.h).
#pragma once

#include <cstdint>

namespace heddle::emulator {

/// Accesses are those of warps: between two waits, the n-th access of each of its lanes at one place of the source is one.
struct Traffic {
    std::uint64_t accesses = 0;  ///< to global memory
    std::uint64_t bytes = 0;     ///< that threads asked for there
    std::uint64_t sectors = 0;   ///< that these accesses touch, each sector once an access
    std::uint64_t shared_accesses = 0;
    std::uint64_t shared_cycles = 0;        ///< that the banks take for them
    std::uint64_t least_shared_cycles = 0;  ///< that they would take without conflicts
    std::uint64_t barriers = 0;             ///< of a block or more, once for each warp
    std::uint64_t collectives = 0;          ///< of warps: shuffles, votes, __syncwarp, ldmatrix, mma
};

/// Counts from now on, in all launches that run. Slow; one count at a time.
void begin_traffic();
/// Ends it. Whoever counts waits for the device before.
Traffic end_traffic();

}  // namespace heddle::emulator
