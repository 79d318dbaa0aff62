// The happens-before order of a launch as vector clocks.
//
// Every thread has a clock that advances when it synchronises; an access is stamped with its thread's clock. It happened before
// what thread t does now if t knows that thread's clock at that time or a later one. A thread's knowledge of its own block is
//
//     the block's snapshot   the threads' clocks at the last barrier of the whole block, one array for all of them,
//     or an own snapshot     after named barriers, grid barriers and acquired fences,
//     and an overlay         32 clocks of its own warp, from __syncwarp.
//
// Most kernels use only the first and the last, so a barrier costs one pass over the threads. Knowledge of other blocks belongs
// to the snapshot: one array of clocks for each known block.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/emulator/run/checker_hooks.h"

namespace heddle::emulator::checker {

using Clocks = std::vector<std::uint32_t>;

/// The clocks of another block's threads. Blocks are numbered process-wide (their ordinal), so that launches cannot be confused.
struct Heard {
    std::uint32_t ordinal;
    std::shared_ptr<const Clocks> clocks;
};
using Foreign = std::vector<Heard>;  // ascending ordinals

/// Knowledge of the own block and of others.
struct Snapshot {
    Clocks clocks;
    std::shared_ptr<const Foreign> foreign;  // null: nothing
};

/// What a thread released with an atomic after a fence: to its own block, and to the device (null: the fence was for the block
/// only).
struct Released {
    std::uint32_t ordinal;
    int thread;
    std::shared_ptr<const Snapshot> to_block, to_device;
};
using Releases = std::vector<Released>;

struct Thread {
    std::uint32_t clock = 1;
    std::uint32_t fence_clock = 0;    // at its last fence
    std::uint32_t crowd = 0;          // threads with the same number, unique in the process, know the same of all others; 0: none
    std::uint32_t overlay_epoch = 0;  // the overlay is valid while this is the block's epoch
    std::array<std::uint32_t, 32> overlay;
    std::shared_ptr<const Snapshot> own;                  // replaces the block's
    std::shared_ptr<const Snapshot> to_block, to_device;  // since its last fences
    std::vector<std::shared_ptr<const Releases>> seen;    // seen by atomics, not yet acquired by a fence
    struct PlainRead {
        const void* address = nullptr;
        std::uint32_t clock = 0;
    };
    std::array<PlainRead, 4> plain_reads{};  // the last ones of shared memory, in programs of the front end
    std::uint32_t next_plain_read = 0;

    void note_plain_read(const void* address) { plain_reads[next_plain_read++ % 4] = {address, clock}; }
    /// Whether it has read there plainly and not synchronised since.
    bool has_read(const void* address) const {
        for (const PlainRead& read : plain_reads)
            if (read.address == address && read.clock == clock) return true;
        return false;
    }
};

struct Block {
    std::uint64_t number = 0;   // in its grid
    std::uint32_t ordinal = 0;  // in the process
    std::uint32_t epoch = 1;    // counts its barriers
    std::shared_ptr<const Snapshot> base;
    bool has_own = false;  // some thread has its own snapshot
    std::vector<Thread> threads;
};

inline const Snapshot* base_of(const Block& block, int thread) {
    const Thread& t = block.threads[thread];
    return t.own ? t.own.get() : block.base.get();
}
/// Whether a snapshot of the block `own` includes this clock of thread `other` of the block `ordinal`. A null snapshot includes
/// nothing.
bool holds(const Snapshot* snapshot, std::uint32_t own, std::uint32_t ordinal, int other, std::uint32_t clock);
/// Whether `thread` of `block` knows what thread `other` of the block `ordinal` did at `clock`.
inline bool knows(const Block& block, int thread, std::uint32_t ordinal, int other, std::uint32_t clock) {
    if (ordinal != block.ordinal) return holds(base_of(block, thread), block.ordinal, ordinal, other, clock);
    if (thread == other) return true;
    const Thread& t = block.threads[thread];
    if (const Snapshot* base = base_of(block, thread); base && base->clocks[other] >= clock) return true;
    return thread / 32 == other / 32 && t.overlay_epoch == block.epoch && t.overlay[other % 32] >= clock;
}
/// Whether all threads of the running thread's `crowd` know it, too: everything that it knows except its own accesses.
inline bool crowd_knows(const Block& block, int thread, std::uint32_t ordinal, int other, std::uint32_t clock) {
    const Thread& t = block.threads[thread];
    return holds(base_of(block, thread), block.ordinal, ordinal, other, clock) ||
           (ordinal == block.ordinal && thread / 32 == other / 32 && t.overlay_epoch == block.epoch &&
            t.overlay[other % 32] >= clock);
}
/// A new number for threads with the same knowledge from now on.
std::uint32_t new_crowd();
/// Gives all of `threads` (indices in `blocks` and thread numbers) the joint knowledge of all of them.
struct Member {
    Block* block;
    int thread;
};
void join(std::span<const Member> members);
/// The thread passes a fence: it acquires what its atomics saw, and its later atomics release what it now knows.
void pass_fence(Block& block, int thread, bool device_wide);
/// The clock that an atomic access is stamped with. Right after a fence it is the fence's: a thread that acquires what the fence
/// released has also seen the atomic itself, and may then access its memory plainly (the last block resets its ticket).
inline std::uint32_t clock_of_atomic(const Thread& thread) {
    return thread.fence_clock + 1 == thread.clock ? thread.fence_clock : thread.clock;
}
/// The thread made an atomic access to a location; `releases` (null: none) is what the location passes on.
void pass_atomic(Block& block, int thread, bool reads, bool writes, std::shared_ptr<const Releases>& releases);

}  // namespace heddle::emulator::checker
