// How a chip serves what a warp asks of memory, for the count of traffic (traffic.h) and for requests (requests.h). Global memory
// is fetched in sectors of 32 bytes. Shared memory has 32 banks of 4 bytes; each delivers one word a cycle, to any number of
// lanes. A warp's accesses of 16 bytes a lane are served a quarter warp at a time, those of 8 bytes half a warp.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
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

/// The cycles of one access of a warp, given as at most one entry for each lane.
inline BankCycles bank_cycles(std::span<const BankAccess> accesses) {
    std::size_t widest = 0;
    for (const BankAccess& one : accesses) widest = std::max(widest, one.bytes);
    const std::size_t together = widest <= 4 ? 32 : widest <= 8 ? 16 : 8;
    constexpr std::uint64_t kBanks = 32, kWord = 4;
    BankCycles all;
    for (std::size_t first = 0; first < 32; first += together) {
        std::array<std::vector<std::uint64_t>, kBanks> words;  // that each bank must deliver
        for (const BankAccess& one : accesses) {
            if (one.lane < first || one.lane >= first + together) continue;
            for (std::uint64_t word = one.address / kWord; word * kWord < one.address + one.bytes; ++word)
                if (std::vector<std::uint64_t>& bank = words[word % kBanks]; std::ranges::find(bank, word) == bank.end())
                    bank.push_back(word);
        }
        const auto degree =
            static_cast<std::uint32_t>(std::ranges::max_element(words, {}, [](const auto& bank) { return bank.size(); })->size());
        all.degree = std::max(all.degree, degree);
        all.cycles += degree;
        all.parts += degree != 0;
    }
    return all;
}

}  // namespace heddle::emulator
