// Counts the memory traffic of each kernel by source line (HEDDLE_EMULATOR_COST) and reports it when the program ends.
//
// An access is a warp's, as in traffic.cpp: between two waits, the n-th accesses of its lanes at one instruction. Lanes that are
// missing in it diverged. Of what a warp does between two of its waits the first kMostOpen accesses are counted.
#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/emulator/run/report.h"
#include "kernels/emulator/run/run.h"
#include "kernels/emulator/run/scheduler.h"
#include "kernels/emulator/run/traffic_hooks.h"
#include "kernels/emulator/run/verdict.h"
#include "kernels/emulator/trace/costs.h"

namespace heddle::emulator {
namespace {

constexpr std::size_t kMostOpen = 1 << 16;

// An instruction's address, or a place in the source.
struct CostSite {
    const void* where;
    int line;  // -1: `where` is code
    auto operator<=>(const CostSite&) const = default;
};

struct WarpAccess {
    std::uint32_t lanes = 0;
    bool shared = false;
    std::vector<BankAccess> accesses;
};
struct LaneVisits {
    std::uint64_t epoch = 0;
    std::map<std::pair<bool, CostSite>, std::uint64_t> visits;
};
struct WarpCosts {
    std::map<std::tuple<CostSite, bool, std::uint64_t, std::uint64_t>, WarpAccess> open;  // by epoch and visit
    LaneVisits lanes[32];
};

struct LineCosts {
    std::map<std::pair<const Block*, int>, WarpCosts> warps;               // of the blocks that run
    std::map<std::pair<const void*, CostSite>, CostCounts> sites;          // by kernel
    std::map<const void*, std::pair<std::uint64_t, std::uint64_t>> waits;  // barriers and collectives
};
LineCosts& line_costs() {  // a checked launch runs on one CPU thread
    static LineCosts& all = *new LineCosts;
    return all;
}

void add_counts(CostCounts& to, const CostCounts& more) {
    to.accesses += more.accesses;
    to.divergent += more.divergent;
    to.bytes += more.bytes;
    to.sectors += more.sectors;
    to.least_sectors += more.least_sectors;
    to.shared_accesses += more.shared_accesses;
    to.shared_cycles += more.shared_cycles;
    to.least_shared_cycles += more.least_shared_cycles;
}

void close_access(const WarpAccess& access, std::uint32_t exists, CostCounts& counts) {
    counts.divergent += access.lanes != exists;
    if (access.shared) {
        const BankCycles banks = bank_cycles(access.accesses);
        ++counts.shared_accesses;
        counts.shared_cycles += banks.cycles;
        counts.least_shared_cycles += banks.parts;
        return;
    }
    std::vector<std::uintptr_t> sectors;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
    for (const BankAccess& one : access.accesses) {
        add_sectors(sectors, one.address, one.bytes);
        ranges.emplace_back(one.address, one.address + one.bytes);
        counts.bytes += one.bytes;
    }
    ++counts.accesses;
    counts.sectors += sectors.size();
    counts.least_sectors += (covered_bytes(std::move(ranges)) + kSector - 1) / kSector;
}

void tell_line_costs() {
    using Line = std::pair<std::string, int>;
    std::map<std::string, std::map<Line, CostCounts>> kernels;
    for (const auto& [key, counts] : line_costs().sites) {
        SourceLine line;
        if (key.second.line < 0)
            line = source_line_of(key.second.where);
        else
            line = {"", static_cast<const char*>(key.second.where), key.second.line};
        add_counts(kernels[kernel_name(key.first)][{line.file, line.line}], counts);
    }
    const std::map<std::string, std::uint64_t> launches = counted_launches();
    for (const auto& [kernel, lines] : kernels) {
        ViolationRecord whole;
        whole.kind = "cost";
        whole.kernel = kernel;
        std::uint64_t worst = 0;
        for (const auto& [line, counts] : lines) {
            add_counts(whole.cost, counts);
            if (const std::uint64_t waste = counts.wasted(); waste > worst) {
                worst = waste;
                whole.file = line.first;
                whole.line = line.second;
            }
        }
        if (const auto found = launches.find(kernel); found != launches.end()) whole.cost.launches = found->second;
        for (const auto& [address, waits] : line_costs().waits) {
            if (kernel_name(address) != kernel) continue;
            whole.cost.barriers += waits.first;
            whole.cost.collectives += waits.second;
        }
        write_record(whole);
        for (const auto& [line, counts] : lines) {
            ViolationRecord one;
            one.kind = "cost-line";
            one.kernel = kernel;
            one.file = line.first;
            one.line = line.second;
            one.cost = counts;
            write_record(std::move(one));
        }
    }
}

void close_all(WarpCosts& warp, std::uint32_t exists, const void* kernel) {
    for (const auto& [key, access] : warp.open) close_access(access, exists, line_costs().sites[{kernel, std::get<0>(key)}]);
    warp.open.clear();
}

void meet_lanes(WarpCosts& warp, const Warp& met, std::uint32_t lanes) {
    if (lanes == met.exists) close_all(warp, met.exists, scheduler->launch->request->kernel);
    std::uint64_t latest = 0;
    for (int lane = 0; lane < 32; ++lane)
        if ((lanes >> lane & 1u) != 0) latest = std::max(latest, warp.lanes[lane].epoch);
    for (int lane = 0; lane < 32; ++lane)
        if ((lanes >> lane & 1u) != 0) warp.lanes[lane] = {latest + 1, {}};
}

}  // namespace

void note_cost(const void* address, std::size_t bytes, const void* code, const Place& place) {
    if (scheduler == nullptr || scheduler->current == nullptr || bytes == 0) return;
    [[maybe_unused]] static const bool told_at_end = (at_end(tell_line_costs, true), true);
    const Thread& thread = *scheduler->current;
    const Block& block = *thread.block;
    const auto* const at = static_cast<const std::byte*>(address);
    const bool shared = at >= block.arena && at < block.arena + block.arena_bytes;
    const CostSite site = code != nullptr ? CostSite{code, -1} : CostSite{place.file, place.line};
    WarpCosts& warp = line_costs().warps[{&block, thread.number / 32}];
    LaneVisits& lane = warp.lanes[thread.lane()];
    const std::tuple key{site, shared, lane.epoch, lane.visits[{shared, site}]++};
    if (warp.open.size() >= kMostOpen && warp.open.count(key) == 0) return;
    WarpAccess& access = warp.open[key];
    access.shared = shared;
    access.lanes |= 1u << thread.lane();
    access.accesses.push_back({static_cast<std::size_t>(thread.lane()), reinterpret_cast<std::uintptr_t>(address), bytes});
}

void note_cost_of_collective(unsigned lanes) {
    const Thread& thread = *scheduler->current;
    ++line_costs().waits[scheduler->launch->request->kernel].second;
    meet_lanes(line_costs().warps[{thread.block, thread.number / 32}], *thread.warp, lanes);
}

void note_cost_of_barrier(const Thread* const* threads, std::size_t count) {
    std::map<std::pair<const Block*, int>, std::uint32_t> warps;
    for (std::size_t i = 0; i < count; ++i) warps[{threads[i]->block, threads[i]->number / 32}] |= 1u << threads[i]->lane();
    line_costs().waits[scheduler->launch->request->kernel].first += warps.size();
    for (const auto& [warp, lanes] : warps) meet_lanes(line_costs().warps[warp], warp.first->warps[warp.second], lanes);
}

void end_costs_of_block(const Block& block) {
    LineCosts& all = line_costs();
    const void* const kernel = scheduler->launch->request->kernel;
    for (auto warp = all.warps.lower_bound({&block, 0}); warp != all.warps.end() && warp->first.first == &block;) {
        close_all(warp->second, block.warps[warp->first.second].exists, kernel);
        warp = all.warps.erase(warp);
    }
}

}  // namespace heddle::emulator
