#include "kernels/emulator/traffic.h"

#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include "kernels/emulator/scheduler.h"
#include "kernels/emulator/sectors.h"
#include "kernels/emulator/traffic_notes.h"

namespace heddle::emulator {

constinit std::atomic<bool> counts_traffic{false};

namespace {

struct Count {
    std::mutex mutex;
    Traffic traffic;
    // Of a warp: where, and how often a lane was there before -> the sectors that its lanes touch.
    using Access = std::tuple<int, const char*, int, std::uint64_t>;
    struct BlockCount {
        std::map<Access, std::vector<std::uintptr_t>> sectors;
        std::map<std::tuple<int, const char*, int>, std::uint64_t> been;  // by thread and place
    };
    std::map<std::pair<std::uint64_t, std::uint64_t>, BlockCount> blocks;  // that run, by launch and number

    void close(const BlockCount& block) {
        traffic.accesses += block.sectors.size();
        for (const auto& [access, sectors] : block.sectors) traffic.sectors += sectors.size();
    }
};
Count& count() {
    static auto* const count = new Count;
    return *count;
}

}  // namespace

void begin_traffic() {
    const std::lock_guard lock(count().mutex);
    count().traffic = {};
    count().blocks.clear();
    counts_traffic = true;
}

Traffic end_traffic() {
    counts_traffic = false;
    const std::lock_guard lock(count().mutex);
    for (const auto& [number, block] : count().blocks) count().close(block);
    count().blocks.clear();
    return count().traffic;
}

void note_traffic(const void* address, std::size_t bytes, const Place& place) {
    if (scheduler == nullptr || scheduler->current == nullptr || bytes == 0) return;
    const Thread& thread = *scheduler->current;
    const auto* const at = static_cast<const std::byte*>(address);
    if (at >= thread.block->arena && at < thread.block->arena + thread.block->arena_bytes) return;
    const std::lock_guard lock(count().mutex);
    auto& blocks = count().blocks;
    const auto number = std::pair(scheduler->launch->number, thread.block->number);
    Count::BlockCount& block = blocks[number];
    const std::uint64_t before = block.been[{thread.number, place.file, place.line}]++;
    std::vector<std::uintptr_t>& sectors = block.sectors[{thread.number / 32, place.file, place.line, before}];
    add_sectors(sectors, reinterpret_cast<std::uintptr_t>(address), bytes);
    count().traffic.bytes += bytes;
}

void end_traffic_of_block(std::uint64_t launch, std::uint64_t block) {
    const std::lock_guard lock(count().mutex);
    const auto found = count().blocks.find({launch, block});
    if (found == count().blocks.end()) return;
    count().close(found->second);
    count().blocks.erase(found);
}

}  // namespace heddle::emulator
