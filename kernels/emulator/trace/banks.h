// How a chip serves shared memory: 32 banks of 4 bytes, of which each delivers one word a cycle to any number of lanes. A warp's
// accesses of 16 bytes a lane are served a quarter warp at a time, of 8 bytes half a warp. Used by the count of traffic
// (traffic.h) and by requests of a warp (requests.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace heddle::emulator {

/// What one lane of a warp accesses.
struct BankAccess {
    std::size_t lane = 0;
    std::uint64_t address = 0;
    std::size_t bytes = 0;
};

struct BankCycles {
    std::uint32_t degree = 0;  ///< the most words that one bank must deliver for one part of the warp: 1 is without conflict
    std::uint32_t cycles = 0;  ///< the sum of that over the parts
    std::uint32_t parts = 0;   ///< with an active lane: the least number of cycles
};

/// Of one access of a warp: at most one entry a lane.
BankCycles bank_cycles(std::span<const BankAccess> accesses);

}  // namespace heddle::emulator
