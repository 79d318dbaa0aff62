// How a chip fetches global memory: in sectors of 32 bytes. Shared by the count of traffic (traffic.h) and by requests of a warp
// (requests.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace heddle::emulator {

inline constexpr std::uintptr_t kSector = 32;

/// Adds the sectors that contain these bytes (bytes > 0), each at most once, as sector numbers: address / 32.
inline void add_sectors(std::vector<std::uintptr_t>& sectors, std::uintptr_t address, std::size_t bytes) {
    for (std::uintptr_t sector = address / kSector; sector <= (address + bytes - 1) / kSector; ++sector)
        if (std::find(sectors.begin(), sectors.end(), sector) == sectors.end()) sectors.push_back(sector);
}

/// The bytes in the union of these ranges [first, end).
inline std::uint64_t covered_bytes(std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges) {
    std::sort(ranges.begin(), ranges.end());
    std::uint64_t sum = 0, end = 0;
    for (const auto& [first, last] : ranges) {
        sum += last > end ? last - std::max(first, end) : 0;
        end = std::max(end, last);
    }
    return sum;
}

}  // namespace heddle::emulator
