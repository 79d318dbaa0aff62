// Requests: what a warp's lanes ask of memory together, from a trace (trace.h), and what that costs a chip.
//
// A trace has accesses of single threads. Between two waits, accesses of a warp at the same place of the source that are each
// lane's n-th there are one request; lanes that are missing in it diverged. The rules of cost are the chip's for all generations
// from sm_70 to sm_90: global memory moves in sectors of 32 bytes; shared memory has 32 banks of 4 bytes, of which each delivers
// one word a cycle to any number of lanes. Accesses of 16 bytes are served a quarter warp at a time, of 8 bytes half a warp. Not
// modelled: caches; chips that serve a wider part of the warp where neighbouring lanes read the same 8 or 16 bytes; atomic
// updates of one word, which a chip makes one after the other. There is no time here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/emulator/trace/trace.h"

namespace heddle::emulator {

/// One step of a warp: a request to memory, or a wait, commit, collective or barrier.
struct Request {
    Action action = Action::read;
    bool shared = false;
    std::uint32_t block = 0, warp = 0, site = 0;
    std::uint32_t visit = 0;  ///< how often its lanes were at this site since their last wait
    std::uint32_t lanes = 0;  ///< active ones
    std::array<std::uint32_t, 32>
        events;  ///< each lane's event, as an index in TracedLaunch::events, or kNoEvent; in a meeting they are equal
    // Accesses:
    std::uint64_t asked = 0;   ///< bytes that the lanes access; a byte counts once for each lane that accesses it
    std::uint64_t needed = 0;  ///< each byte once
    // If it accesses global memory:
    std::uint64_t sectors = 0;  ///< that hold these bytes; 32 bytes are moved for each
    // If it accesses shared memory:
    std::uint32_t degree = 0;  ///< the most words that one bank must deliver for one part of the warp: 1 is without conflict
    std::uint32_t cycles = 0;  ///< the sum of that over the parts
    std::uint32_t parts = 0;   ///< with an active lane: the least number of cycles
};

/// All requests, sorted by block, then warp. The order within a warp agrees with that of each of its lanes.
std::vector<Request> requests_of(const TracedLaunch& launch);

/// Sums over a launch, or over one site of it.
struct RequestTotals {
    std::uint64_t global_requests = 0, asked = 0, needed = 0, sectors = 0;
    std::uint64_t shared_requests = 0, cycles = 0, parts = 0;
    std::uint32_t degree = 0;                                ///< the greatest
    std::uint64_t divergent = 0;                             ///< requests to memory in which a lane of the warp is missing
    std::uint64_t barriers = 0, collectives = 0, waits = 0;  ///< counted once for each warp
    void add(const Request& request, std::uint32_t lanes_of_warp);
    void add(const RequestTotals& other);
};
/// The lanes that a warp of this launch has: all 32, except in the last warp of a block whose size is not a multiple of 32.
std::uint32_t lanes_of_warp(const TracedLaunch& launch, std::uint32_t warp);
RequestTotals totals_of(const TracedLaunch& launch, const std::vector<Request>& requests);

}  // namespace heddle::emulator
