// Barriers that are objects in memory, whose arrival and wait are two calls: cuda::barrier, and PTX's mbarrier.
//
// For the checker an arrival is a fence and an atomic, and the end of a wait an atomic and a fence: for the block if the object
// lies in its shared memory, else for the device. The start is a plain write, so an arrival that no barrier orders after it is a
// race.
//
// Behind them: functions for the groups of cooperative_groups.h, beside a warp's collectives and the block's barrier.
#include <cstring>

#include "kernels/emulator/device_calls.h"
#include "kernels/emulator/run/checker_hooks.h"
#include "kernels/emulator/run/report.h"
#include "kernels/emulator/run/scheduler.h"
#include "kernels/emulator/run/verdict.h"

namespace heddle::emulator {
namespace {

constexpr std::uint64_t kMostArrivals = (1u << 20) - 1;  ///< arrivals of a phase, as for an mbarrier

/// The object's 64 bits: the phase, the arrivals that it still waits for, the arrivals of the next phase.
struct SplitBarrier {
    std::uint64_t phase, pending, expected;
    static SplitBarrier of(const void* object) {
        const std::uint64_t bits = __atomic_load_n(static_cast<const std::uint64_t*>(object), __ATOMIC_ACQUIRE);
        return {bits >> 40, bits >> 20 & kMostArrivals, bits & kMostArrivals};
    }
    void write(void* object) const {
        const std::uint64_t bits = (phase & 0xffffff) << 40 | pending << 20 | expected;
        __atomic_store_n(static_cast<std::uint64_t*>(object), bits, __ATOMIC_RELEASE);
    }
};

void check_address(const void* object, const char* what, Place place) {
    in_kernel(what);
    if (reinterpret_cast<std::uintptr_t>(object) % 8 != 0)
        violate(mistake("misaligned", place,
                        std::string(what) + " at " + text_of(place) + ": the barrier's address is not a multiple of 8"));
}

/// A phase whose end a thread waits for or asks about.
struct AwaitedPhase {
    void* object;
    std::uint64_t token;
    bool parity_only;
};
bool is_over(const AwaitedPhase& phase) {
    const std::uint64_t now = SplitBarrier::of(phase.object).phase;
    return phase.parity_only ? (now & 1u) != (phase.token & 1u) : now != phase.token;
}

/// The scope of the fences: 0 for an object in the block's shared memory, else 1.
[[maybe_unused]] int scope_of(const void* object) {
    const Block& block = *scheduler->current->block;
    const auto offset = reinterpret_cast<std::uintptr_t>(object) - reinterpret_cast<std::uintptr_t>(block.arena);
    return offset < block.arena_bytes ? 0 : 1;
}

void acquire(void* object, Place place) {
    if constexpr (checker::kEnabled) {
        checker::atomic_access(object, 8, true, false, place);
        checker::fence(scope_of(object));
    }
    race_acquire(object);
}

void wait_for(AwaitedPhase phase, Place place) {
    check_address(phase.object, "a barrier's wait", place);
    scheduler->wait_until([](void* argument) { return is_over(*static_cast<AwaitedPhase*>(argument)); }, &phase,
                          static_cast<const std::byte*>(phase.object), "a barrier's wait", place);
    acquire(phase.object, place);
}

bool test(AwaitedPhase phase, Place place) {
    check_address(phase.object, "a barrier's test", place);
    scheduler->step_aside();  // the caller may spin
    if (!is_over(phase)) {
        if constexpr (checker::kEnabled) checker::atomic_access(phase.object, 8, true, false, place);
        return false;
    }
    acquire(phase.object, place);
    return true;
}

}  // namespace

void split_barrier_init(void* barrier, std::uint32_t expected, Place place) {
    check_address(barrier, "a barrier's init", place);
    if (expected == 0 || expected > kMostArrivals)
        violate(mistake("barrier", place,
                        "a barrier's init at " + text_of(place) + ": expects " + std::to_string(expected) +
                            " arrivals, wanted 1 to " + std::to_string(kMostArrivals)));
    if constexpr (checker::kEnabled) checker::write(barrier, 8, place);
    SplitBarrier{0, expected, expected}.write(barrier);
}

std::uint64_t split_barrier_arrive(void* barrier, std::uint32_t count, bool drop, Place place) {
    check_address(barrier, "a barrier's arrive", place);
    copies_of_barriers_land();
    race_release(barrier);
    SplitBarrier state = SplitBarrier::of(barrier);
    if constexpr (checker::kEnabled) checker::arrival(barrier, 8, count == state.pending, scope_of(barrier), place);
    if (count > state.pending || (drop && count > state.expected))
        violate(mistake("barrier", place,
                        "a barrier's arrive at " + text_of(place) + ": " + std::to_string(count) +
                            " arrivals, but the phase expects only " + std::to_string(state.pending) + " more of " +
                            std::to_string(state.expected)));
    const std::uint64_t token = state.phase;
    state.pending -= count;
    if (drop) state.expected -= count;
    if (state.pending == 0) {
        state.phase = (state.phase + 1) & 0xffffff;
        state.pending = state.expected;
        if constexpr (checker::kEnabled) {  // the last one passes on what all have told, so that the list does not grow
            checker::fence(scope_of(barrier));
            checker::atomic_access(barrier, 8, false, true, place);
        }
    }
    state.write(barrier);
    return token;
}

bool split_barrier_test(void* barrier, std::uint64_t token, Place place) { return test({barrier, token, false}, place); }
bool split_barrier_test_parity(void* barrier, std::uint32_t parity, Place place) { return test({barrier, parity, true}, place); }
void split_barrier_wait(void* barrier, std::uint64_t token, Place place) { wait_for({barrier, token, false}, place); }
void split_barrier_wait_parity(void* barrier, std::uint32_t parity, Place place) { wait_for({barrier, parity, true}, place); }

void partial_barrier(unsigned first, unsigned count, Place place) {
    Thread& thread = *in_kernel("a group's sync").current;
    Block& block = *thread.block;
    const auto threads = static_cast<unsigned>(block.threads);
    const unsigned end = first + count < threads ? first + count : threads;
    if (first % 32 != 0 || first >= end)
        violate(mistake("barrier", place, "a group's sync at " + text_of(place) + ": the group is not of whole warps"));
    for (unsigned i = first; i < end; ++i)
        if (block.first[i].state == State::exited)
            violate(mistake("barrier", place,
                            "a group's sync at " + text_of(place) + ", but " + name_of(block.first[i]) +
                                " has left the kernel and never comes to it"));
    block.named_used = true;
    meet(block.partial[first / 32], static_cast<int>(end - first), 0, "a group's sync", place);
}

void show(const void* value) {
    Thread& thread = *in_kernel("a group's reduce").current;
    Block& block = *thread.block;
    if (block.shown.size() < static_cast<std::size_t>(block.threads)) block.shown.resize(static_cast<std::size_t>(block.threads));
    block.shown[static_cast<std::size_t>(thread.number)] = value;
}

void read_shown(unsigned thread, void* to, std::size_t bytes) {
    const Block& block = *in_kernel("a group's reduce").current->block;
    if (thread < block.shown.size()) std::memcpy(to, block.shown[thread], bytes);
}

bool is_cooperative() { return in_kernel("a grid group").launch->request->cooperative; }

unsigned cluster_blocks() { return static_cast<unsigned>(in_kernel("a cluster group").launch->request->cluster); }

void* cluster_shared(const void* address, unsigned block, Place place) {
    const Scheduler& self = in_kernel("map_shared_rank");
    const Block& own = *self.current->block;
    const auto* const at = static_cast<const std::byte*>(address);
    if (at < own.arena || at >= own.arena + own.arena_bytes)
        violate(mistake("out-of-bounds", place,
                        "map_shared_rank at " + text_of(place) + ": the address is not in the block's shared memory"));
    if (block >= self.blocks.size())
        violate(mistake("out-of-bounds", place,
                        "map_shared_rank at " + text_of(place) + ": the cluster has no block " + std::to_string(block)));
    return self.blocks[block].arena + (at - own.arena);
}

}  // namespace heddle::emulator
