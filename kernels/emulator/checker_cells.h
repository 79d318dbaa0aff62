// Races on one word (or byte): what a cell keeps, and when two accesses meet.
//
// Kept are the last plain write and, since then, up to two atomic writes and four reads. An access drops every earlier one that
// happened before it and that is in conflict with nothing but what is in conflict with it too: whoever misses the order behind
// the new one then also misses it behind the old one. When places run out, the accesses that are kept are the most different ones
// - from different blocks, then warps, then quarters of a warp - because a barrier that is too small then leaves one of them out.
#pragma once

#include "kernels/emulator/checker_state.h"

namespace heddle::emulator::checker {

/// Enters an access into the cell. Returns the earlier access that it races with, or null.
inline const Access* enter(Cell& cell, const Access& now, const Block& block, std::uint32_t since);

namespace detail {

/// How much alike the threads of two accesses are.
inline int likeness(const Access& a, const Access& b) {
    if (a.block != b.block) return 0;
    const int different = a.thread() ^ b.thread();
    return different >= 32 ? 1 : different >= 8 ? 2 : different > 0 ? 3 : 4;
}

inline bool before(const Access& old, const Access& now, const Block& block) {
    return knows(block, now.thread(), old.block, old.thread(), old.clock);
}

/// Puts `now` among the kept accesses.
template <std::size_t N>
void keep(std::array<Access, N>& kept, const Access& now, const Block& block, std::uint32_t since) {
    Access* place = nullptr;
    for (Access& old : kept) {
        const bool gone = old.block < since;
        const bool covered = !gone && (old.kind() == now.kind() || is_atomic(old.kind())) && before(old, now, block);
        if (!gone && !covered) continue;
        if (place)
            old.block = 0;
        else
            place = &old;
    }
    if (place) {
        *place = now;
        return;
    }
    int worst = 0;
    for (const Access& old : kept) worst += likeness(old, now);
    for (Access& candidate : kept) {
        int sum = likeness(candidate, now);
        for (const Access& old : kept)
            if (&old != &candidate) sum += likeness(candidate, old);
        if (sum > worst) {
            worst = sum;
            place = &candidate;
        }
    }
    if (place) *place = now;
}

}  // namespace detail

inline const Access* enter(Cell& cell, const Access& now, const Block& block, std::uint32_t since) {
    const Kind kind = now.kind();
    const auto races = [&](const Access& old) {
        return old.block >= since && conflict(old.kind(), kind) && !detail::before(old, now, block);
    };
    if (races(cell.write)) return &cell.write;
    if (kind != Kind::atomic_write && kind != Kind::atomic_read)
        for (const Access& old : cell.atomics)
            if (races(old)) return &old;
    if (is_write(kind))
        for (const Access& old : cell.reads)
            if (races(old)) return &old;
    switch (kind) {
        case Kind::write:  // everything else happened before it
            cell.write = now;
            for (Access& old : cell.atomics) old.block = 0;
            for (Access& old : cell.reads) old.block = 0;
            break;
        case Kind::atomic_write: detail::keep(cell.atomics, now, block, since); break;
        default: detail::keep(cell.reads, now, block, since);
    }
    return nullptr;
}

}  // namespace heddle::emulator::checker
