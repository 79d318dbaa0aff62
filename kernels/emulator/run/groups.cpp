// Functions for the groups of cooperative_groups.h, beside a warp's collectives and the block's barrier.
#include <cstring>

#include "kernels/emulator/device_calls.h"
#include "kernels/emulator/run/report.h"
#include "kernels/emulator/run/scheduler.h"
#include "kernels/emulator/run/verdict.h"

namespace heddle::emulator {

void partial_barrier(unsigned first, unsigned count, Place place) {
    Thread& thread = *in_kernel("a group's sync").current;
    Block& block = *thread.block;
    const auto threads = static_cast<unsigned>(block.threads);
    const unsigned end = first + count < threads ? first + count : threads;
    if (first % 32 != 0 || first >= end) 
        violate(mistake("barrier", place, "a group's sync at " + text_of(place) + ": the group is not of whole warps"));
    for (unsigned i = first; i < end; ++i)
        if (block.first[i].state == State::exited)
            violate(mistake("barrier", place, "a group's sync at " + text_of(place) + ", but " + name_of(block.first[i]) +
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
