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

struct Arena;

using Clocks = std::vector<std::uint32_t>;

/// The clocks of another block's threads. Blocks are numbered in the order in which they begin (their ordinal).
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

/// What a thread learns by other means than barriers of its block and its warp. Few have any.
struct Fences {
    std::shared_ptr<const Snapshot> own;                  // replaces the block's
    std::shared_ptr<const Snapshot> to_block, to_device;  // since its last fences
    std::vector<std::shared_ptr<const Releases>> seen;    // seen by atomics, not yet acquired by a fence
};

/// The last plain reads of shared memory by a thread since it synchronised, in programs of the front end.
struct RecentReads {
    std::uint32_t clock = 0, count = 0;
    std::array<std::uint32_t, 4> addresses{};  // their lower halves
};

/// What few threads have.
struct Thread {
    std::uint32_t fence_clock = 0;    // at its last fence; 0: none yet
    std::uint32_t overlay_epoch = 0;  // its overlay is valid while this is the block's epoch
    std::unique_ptr<Fences> fences;
    RecentReads reads;

    Fences& with_fences() {
        if (fences == nullptr) fences = std::make_unique<Fences>();
        return *fences;
    }
};

struct Block {
    std::uint64_t id = 0;       // in the process
    std::uint64_t number = 0;   // in its grid
    std::uint32_t ordinal = 0;  // in the launch, from 1 on
    std::uint32_t epoch = 1;    // counts its barriers
    std::shared_ptr<const Snapshot> base;
    bool has_own = false;     // some thread has its own snapshot
    bool is_uniform = false;  // they met last at a barrier of all, and know of each other all until the clock `common`
    std::uint32_t common = 0;
    Arena* arena = nullptr;  // its shared memory
    Clocks clocks;           // of its threads
    std::vector<std::uint32_t>
        crowds;  // threads with the same number, unique in the launch, know the same of all others; 0: none
    std::vector<std::array<std::uint32_t, 32>> overlays;  // of threads; empty until one has any

    void begin(std::uint64_t number, std::uint32_t ordinal, std::size_t threads);
    std::size_t size() const { return clocks.size(); }
    const Thread& thread(int number) const { return threads_[static_cast<std::size_t>(number)]; }
    Thread& changed_thread(int number) {
        is_changed_ = true;
        return threads_[static_cast<std::size_t>(number)];
    }
    bool has_overlay(int number) const { return !overlays.empty() && thread(number).overlay_epoch == epoch; }
    /// All threads know what the block knows.
    void forget_own();

  private:
    std::vector<Thread> threads_;
    bool is_changed_ = false;
};

inline const Snapshot* base_of(const Block& block, int thread) {
    const Fences* const fences = block.has_own ? block.thread(thread).fences.get() : nullptr;
    return fences != nullptr && fences->own ? fences->own.get() : block.base.get();
}
/// Whether a snapshot of the block `own` includes this clock of thread `other` of the block `ordinal`. A null snapshot includes
/// nothing.
bool holds(const Snapshot* snapshot, std::uint32_t own, std::uint32_t ordinal, int other, std::uint32_t clock);
/// Whether `thread` of `block` knows what thread `other` of the block `ordinal` did at `clock`.
inline bool knows(const Block& block, int thread, std::uint32_t ordinal, int other, std::uint32_t clock) {
    if (ordinal != block.ordinal) return holds(base_of(block, thread), block.ordinal, ordinal, other, clock);
    if (thread == other) return true;
    if (block.is_uniform) return clock <= block.common;
    if (const Snapshot* base = base_of(block, thread); base && base->clocks[other] >= clock) return true;
    return thread / 32 == other / 32 && block.has_overlay(thread) && block.overlays[thread][other % 32] >= clock;
}
/// Whether all threads of the running thread's `crowd` know it, too: everything that it knows except its own accesses.
inline bool crowd_knows(const Block& block, int thread, std::uint32_t ordinal, int other, std::uint32_t clock) {
    if (block.is_uniform && ordinal == block.ordinal) return clock <= block.common;
    return holds(base_of(block, thread), block.ordinal, ordinal, other, clock) ||
           (ordinal == block.ordinal && thread / 32 == other / 32 && block.has_overlay(thread) &&
            block.overlays[thread][other % 32] >= clock);
}
/// A new number for threads with the same knowledge from now on; 0 when the launch has used up all.
std::uint32_t new_crowd();
/// A launch begins.
void forget_crowds();
/// All threads of the block have met.
void join_block(Block& block);
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
inline std::uint32_t clock_of_atomic(const Block& block, int thread) {
    const std::uint32_t clock = block.clocks[thread], of_fence = block.thread(thread).fence_clock;
    // Clock 0 is no fence's, and a thread of which nothing is known counts as known until then.
    return of_fence != 0 && of_fence + 1 == clock ? of_fence : clock;
}
/// The thread made an atomic access to a location; `releases` (null: none) is what the location passes on. `acquires`: a later
/// fence learns from what it read.
void pass_atomic(Block& block, int thread, bool reads, bool writes, bool acquires, std::shared_ptr<const Releases>& releases);

}  // namespace heddle::emulator::checker
