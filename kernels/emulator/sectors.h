// How a chip fetches global memory: in sectors of 32 bytes. Shared by the count of traffic (traffic.h) and by requests of a warp
// (requests.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle::emulator {

inline constexpr std::uintptr_t kSector = 32;

/// Adds the sectors that contain these bytes (bytes > 0), each at most once, as sector numbers: address / 32.
inline void add_sectors(std::vector<std::uintptr_t>& sectors, std::uintptr_t address, std::size_t bytes) {
    for (std::uintptr_t sector = address / kSector; sector <= (address + bytes - 1) / kSector; ++sector)
        if (std::find(sectors.begin(), sectors.end(), sector) == sectors.end()) sectors.push_back(sector);
}

}  // namespace heddle::emulator
