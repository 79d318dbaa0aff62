#include "kernels/emulator/trace/traffic.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/emulator/run/scheduler.h"
#include "kernels/emulator/run/traffic_hooks.h"
#include "kernels/emulator/trace/costs.h"

namespace heddle::emulator {

constinit std::atomic<bool> detail::traffic_is_counted{false};

namespace {

// A lane's accesses between two of its waits. Lanes that meet continue in the same epoch, as in requests.cpp.
struct Lane {
    std::uint64_t epoch = 0;
    std::map<std::tuple<bool, int, const char*>, std::uint64_t> visits;  // by (is shared memory, place)
};

struct BlockCount {
    // A warp's access: the warp, the place, the epoch, and how often a lane was there before.
    using Access = std::tuple<int, int, const char*, std::uint64_t, std::uint64_t>;
    std::map<Access, std::vector<std::uintptr_t>> sectors;  // of global memory
    std::map<Access, std::vector<BankAccess>> banks;        // of shared memory
    std::map<int, Lane> lanes;                              // by thread

    void meet(const std::vector<int>& threads) {
        std::uint64_t latest = 0;
        for (const int thread : threads) latest = std::max(latest, lanes[thread].epoch);
        for (const int thread : threads) lanes[thread] = {.epoch = latest + 1, .visits = {}};
    }
};

struct Count {
    std::mutex mutex;
    Traffic traffic;
    std::map<std::pair<std::uint64_t, std::uint64_t>, BlockCount> blocks;  // the running ones, by launch and number

    BlockCount& block_of(const Thread& thread) { return blocks[{scheduler->launch->number, thread.block->number}]; }
    void close(const BlockCount& block) {
        traffic.accesses += block.sectors.size();
        for (const auto& [access, sectors] : block.sectors) traffic.sectors += sectors.size();
        traffic.shared_accesses += block.banks.size();
        for (const auto& [access, lanes] : block.banks) {
            const BankCycles banks = bank_cycles(lanes);
            traffic.shared_cycles += banks.cycles;
            traffic.least_shared_cycles += banks.parts;
        }
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
    detail::traffic_is_counted = true;
}

Traffic end_traffic() {
    detail::traffic_is_counted = false;
    const std::lock_guard lock(count().mutex);
    for (const auto& [number, block] : count().blocks) count().close(block);
    count().blocks.clear();
    return count().traffic;
}

void note_traffic(const void* address, std::size_t bytes, const Place& place) {
    if (scheduler == nullptr || scheduler->current == nullptr || bytes == 0) return;
    const Thread& thread = *scheduler->current;
    const auto* const at = static_cast<const std::byte*>(address);
    // Pieces begin where the kernel counts them plus multiples of 1024 bytes of red zone: in the bank that they have on a chip.
    const bool shared = at >= thread.block->arena && at < thread.block->arena + thread.block->arena_bytes;
    const auto number = reinterpret_cast<std::uintptr_t>(address);
    const std::lock_guard lock(count().mutex);
    BlockCount& block = count().block_of(thread);
    Lane& lane = block.lanes[thread.number];
    const BlockCount::Access access = {thread.number / 32, place.line, place.file, lane.epoch,
                                       lane.visits[{shared, place.line, place.file}]++};
    if (shared) {
        block.banks[access].push_back({static_cast<std::size_t>(thread.lane()), number, bytes});
    } else {
        add_sectors(block.sectors[access], number, bytes);
        count().traffic.bytes += bytes;
    }
}

void note_collective(unsigned lanes) {
    const Thread& thread = *scheduler->current;
    std::vector<int> threads;
    for (unsigned rest = lanes; rest != 0; rest &= rest - 1)
        threads.push_back(thread.number - thread.lane() + __builtin_ctz(rest));
    const std::lock_guard lock(count().mutex);
    ++count().traffic.collectives;
    count().block_of(thread).meet(threads);
}

void note_barrier(const Thread* const* threads, std::size_t all) {
    std::map<const Warp*, std::pair<const Thread*, std::vector<int>>> warps;
    for (std::size_t i = 0; i < all; ++i) {
        auto& [thread, numbers] = warps[threads[i]->warp];
        thread = threads[i];
        numbers.push_back(threads[i]->number);
    }
    const std::lock_guard lock(count().mutex);
    count().traffic.barriers += warps.size();
    for (const auto& [warp, met] : warps) count().block_of(*met.first).meet(met.second);
}

void end_traffic_of_block(std::uint64_t launch, std::uint64_t block) {
    const std::lock_guard lock(count().mutex);
    const auto found = count().blocks.find({launch, block});
    if (found == count().blocks.end()) return;
    count().close(found->second);
    count().blocks.erase(found);
}

}  // namespace heddle::emulator
