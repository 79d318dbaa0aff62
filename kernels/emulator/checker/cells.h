// Races on one word (or byte): which accesses are kept, and when two of them are a race.
//
// Most words need one: the last plain access. Where it does not stand for all, a cell keeps the last plain write and, since then,
// up to two atomic writes and four reads. A new access replaces every earlier one that happened before it and whose conflicts are
// all conflicts of the new one, too: a later access that is not ordered after the old one is not ordered after the new one
// either. If there are more, the cell keeps the most different ones (from different blocks, then warps, then quarters of a warp),
// because a barrier that is too small then leaves one of them out.
#pragma once

#include <algorithm>

#include "kernels/emulator/checker/state.h"

namespace heddle::emulator::checker {

namespace detail {

/// How close the threads of two accesses are.
inline int likeness(const Access& a, const Access& b) {
    if (a.block() != b.block()) return 0;
    const int different = a.thread() ^ b.thread();
    return different >= 32 ? 1 : different >= 8 ? 2 : different > 0 ? 3 : 4;
}

inline bool before(const Access& old, const Access& now, const Block& block) {
    return knows(block, now.thread(), old.block(), old.thread(), old.clock());
}

/// Adds `now` to the kept accesses. Returns false if it is not kept.
template <std::size_t N>
bool keep(std::array<Access, N>& kept, const Access& now, const Block& block, std::uint64_t since) {
    Access* place = nullptr;
    for (Access& old : kept) {
        const bool gone = old.time() < since;
        const bool covered =
            !gone && (old.kind() == now.kind() || is_atomic(old.kind())) && old.mixes() >= now.mixes() && before(old, now, block);
        if (!gone && !covered) continue;
        if (place)
            old = {};
        else
            place = &old;
    }
    if (place) {
        *place = now;
        return true;
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
    return place != nullptr;
}

/// Same thread, same clock, same kind; the origin may differ.
inline bool is_repeated(const Access& a, const Access& b) {
    return ((a.bits ^ b.bits) & (Access::kTime | Access::kThread | Access::kKind)) == 0;
}

}  // namespace detail

/// Whether the access may stand unordered beside atomic updates or plain reads of the same word: `old = *p` before a loop of
/// atomicCAS, or `if (x > *best) atomicMax(best, x)`. In shared memory only updates mix whose thread `has_read` the word itself,
/// because there it is mostly a barrier that is missing: between the updates of a histogram and its use.
template <class HasRead>
bool mixes(const void* address, std::size_t bytes, Kind kind, bool updates, bool is_shared, HasRead has_read) {
    if (bytes > 8 || (bytes & (bytes - 1)) != 0 || reinterpret_cast<std::uintptr_t>(address) % bytes != 0) return false;
    if (kind == Kind::read) return true;
    return kind == Kind::atomic_write && updates && (!is_shared || has_read());
}

/// The result of entering an access.
struct Entered {
    const Access* race = nullptr;   // the earlier access that it races with
    const Access* mixed = nullptr;  // the plain read or atomic update that it would race with if they did not mix
    bool kept = false;              // a read that the cell now keeps
    bool left_out = false;          // a read that it does not keep
};

/// Enters an access into the cell.
inline Entered enter(Cell& cell, const Access& now, const Block& block, std::uint64_t since) {
    const Kind kind = now.kind();
    if (!is_write(kind))
        for (Access& old : cell.reads)
            if (detail::is_repeated(old, now)) {  // accesses in between were compared with the first one
                if (old.mixes() || !now.mixes()) old = now;
                return {};
            }
    const Access* mixed = nullptr;
    const auto races = [&](const Access& old) {
        if (old.time() < since || !conflict(old.kind(), kind) || detail::before(old, now, block)) return false;
        const bool mix = old.mixes() && now.mixes();
        if (mix) mixed = &old;
        return !mix;
    };
    if (races(cell.write)) return {&cell.write};
    if (kind != Kind::atomic_write && kind != Kind::atomic_read)
        for (const Access& old : cell.atomics)
            if (races(old)) return {&old};
    if (is_write(kind))
        for (const Access& old : cell.reads)
            if (races(old)) return {&old};
    switch (kind) {
        case Kind::write:  // everything else happened before it
            cell.write = now;
            cell.atomics = {};
            cell.reads = {};
            break;
        case Kind::atomic_write: detail::keep(cell.atomics, now, block, since); break;
        default: {
            const bool kept = detail::keep(cell.reads, now, block, since);
            return {nullptr, mixed, kept, !kept};
        }
    }
    return {nullptr, mixed};
}

/// Enters a plain access where only the last one is kept.
enum class EnteredAlone : std::uint8_t {
    yes,
    no,   ///< one cannot stand for both: nothing is changed
    race  ///< with the kept one, which is left
};
inline EnteredAlone enter_alone(Access& kept, const Access& now, const Block& block, std::uint64_t since) {
    if (kept.time() < since) {
        kept = now;
        return EnteredAlone::yes;
    }
    const bool is_same_thread = ((kept.bits ^ now.bits) & (Access::kTime | Access::kThread)) == 0;
    const bool is_ordered = is_same_thread || detail::before(kept, now, block);
    if (now.kind() == Kind::write || kept.kind() == Kind::write) {
        if (!is_ordered) return EnteredAlone::race;
        if (now.kind() == Kind::write)
            kept = now;
        else if (!is_same_thread)  // else what conflicts with the read conflicts with the write, too
            return EnteredAlone::no;
        return EnteredAlone::yes;
    }
    if (!is_ordered) return EnteredAlone::no;
    // A read that mixes does not stand for one that does not: an atomic update beside the latter is a race.
    if (now.mixes() && !kept.mixes()) return is_same_thread ? EnteredAlone::yes : EnteredAlone::no;
    kept = now;
    return EnteredAlone::yes;
}

/// The consequence of a plain read that the cell did not keep: it need not keep reads by threads with the same knowledge and the
/// same distance to the kept reads either. The crowd must know all writes, because the thread itself may have made one of them.
inline Settled settle(const Cell& cell, const Access& now, const Block& block, std::uint64_t since) {
    const int thread = now.thread();
    const auto is_known = [&](const Access& old) {
        return old.time() < since || crowd_knows(block, thread, old.block(), old.thread(), old.clock());
    };
    if (!is_known(cell.write) || !std::all_of(cell.atomics.begin(), cell.atomics.end(), is_known)) return {};
    if (std::any_of(cell.reads.begin(), cell.reads.end(), is_known)) return {};  // another thread of the crowd would replace it
    int alike = 0, of_warp = 0;
    for (std::size_t i = 0; i < cell.reads.size(); ++i) {
        of_warp += cell.reads[i].block() == block.ordinal && cell.reads[i].thread() / 32 == thread / 32;
        for (std::size_t j = 0; j < i; ++j) alike += detail::likeness(cell.reads[i], cell.reads[j]);
    }
    const bool all = alike == 6 && std::all_of(cell.reads.begin(), cell.reads.end(),
                                               [&](const Access& read) { return read.block() == block.ordinal; });
    const bool whole_warp = of_warp == 4 && alike == 12;  // a read of each quarter
    return Settled::of(block.crowds[thread], thread / 32, whole_warp ? 15u : 1u << thread % 32 / 8, all);
}

}  // namespace heddle::emulator::checker
