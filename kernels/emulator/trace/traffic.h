// Counts what kernels ask of memory, one warp at a time, in a chip's units: sectors of 32 bytes of global memory, and cycles of
// shared memory's banks. Also counts where threads wait for each other.
//
// Only the accesses of the device layer are counted: vectors (load_vector and store_vector, also of one element), rows of
// ldmatrix and asynchronous copies. A plain *pointer is not; the trace of watched kernels has it (trace.h). There are no caches:
// a sector that two warps ask for counts twice. For kernels without plain accesses the sums equal those of the requests
// (requests.h).
#pragma once

#include <cstdint>

namespace heddle::emulator {

/// An access is a warp's: between two waits, the n-th accesses of its lanes at one place of the source are one access.
struct Traffic {
    std::uint64_t accesses = 0;  ///< to global memory
    std::uint64_t bytes = 0;     ///< that threads asked for in global memory
    std::uint64_t sectors = 0;   ///< that these accesses touch; an access counts a sector once
    std::uint64_t shared_accesses = 0;
    std::uint64_t shared_cycles = 0;        ///< that the banks need for these accesses
    std::uint64_t least_shared_cycles = 0;  ///< that they would need without conflicts
    std::uint64_t barriers = 0;             ///< barriers of a block or more, once for each warp
    std::uint64_t collectives = 0;          ///< a warp's shuffles, votes, __syncwarp, ldmatrix, mma
};

/// Counts from now on, in all launches that run. Slow; one count at a time.
void begin_traffic();
/// Ends the count. The caller waits for the device first.
Traffic end_traffic();

}  // namespace heddle::emulator
