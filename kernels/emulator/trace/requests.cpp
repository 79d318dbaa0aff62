#include "kernels/emulator/trace/requests.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "kernels/emulator/trace/costs.h"

namespace heddle::emulator {
namespace {

bool is_meeting(Action action) { return action == Action::collective || action == Action::barrier; }

// Aligns the lanes of one warp. A lane's epoch is the number of waits behind it; lanes that meet continue in the same one, even
// if one of them has waited more often.
class WarpAlignment {
  public:
    explicit WarpAlignment(const TracedLaunch& launch) : launch_(launch) {}

    void add(std::uint32_t number) {
        const TraceEvent& event = launch_.events[number];
        if (is_meeting(event.action)) return meet(event, number);
        Lane& lane = lanes_[event.thread % 32];
        Epoch& epoch = epochs_[lane.epoch];
        const std::uint32_t visit = lane.visits[{event.site, event.action}]++;
        const auto [found, is_new] = epoch.at.try_emplace({event.site, event.action, event.shared, visit}, epoch.requests.size());
        if (is_new) epoch.requests.push_back(blank(event, visit));
        Request& request = epoch.requests[found->second];
        request.lanes |= 1u << event.thread % 32;
        request.events[event.thread % 32] = number;
        epoch.of_lane[event.thread % 32].push_back(found->second);
    }

    void append_to(std::vector<Request>& all) const {
        for (const auto& [number, epoch] : epochs_) {
            append_in_order(epoch, all);
            all.insert(all.end(), epoch.meetings.begin(), epoch.meetings.end());
        }
    }

  private:
    struct Epoch {
        std::vector<Request> requests;
        std::map<std::tuple<std::uint32_t, Action, bool, std::uint32_t>, std::size_t> at;
        std::array<std::vector<std::size_t>, 32> of_lane;  // in each lane's own order
        std::vector<Request> meetings;                     // that end it
    };
    struct Lane {
        std::uint32_t epoch = 0;
        std::map<std::pair<std::uint32_t, Action>, std::uint32_t> visits;
    };

    // A request comes when it is the next one of all of its lanes. If the lanes disagree, so that none is, the earliest of those
    // that are the next one of some lane.
    static void append_in_order(const Epoch& epoch, std::vector<Request>& all) {
        std::array<std::size_t, 32> done{};
        std::vector<bool> is_out(epoch.requests.size());
        std::vector<std::uint32_t> heads(epoch.requests.size());  // the lanes whose next one it is
        std::set<std::size_t> ready, begun;
        const auto advance = [&](std::size_t lane) {
            const std::vector<std::size_t>& own = epoch.of_lane[lane];
            while (done[lane] < own.size() && is_out[own[done[lane]]]) ++done[lane];
            if (done[lane] == own.size()) return;
            const std::size_t next = own[done[lane]];
            heads[next] |= 1u << lane;
            begun.insert(next);
            if (heads[next] == epoch.requests[next].lanes) ready.insert(next);
        };
        for (std::size_t lane = 0; lane < 32; ++lane) advance(lane);
        while (!begun.empty()) {
            const std::size_t next = ready.empty() ? *begun.begin() : *ready.begin();
            ready.erase(next);
            begun.erase(next);
            is_out[next] = true;
            all.push_back(epoch.requests[next]);
            for (std::uint32_t rest = heads[next]; rest != 0; rest &= rest - 1)
                advance(static_cast<std::size_t>(std::countr_zero(rest)));
        }
    }

    static Request blank(const TraceEvent& event, std::uint32_t visit) {
        Request request;
        request.action = event.action;
        request.shared = event.shared;
        request.block = event.block;
        request.warp = event.thread / 32u;
        request.site = event.site;
        request.visit = visit;
        request.events.fill(kNoEvent);
        return request;
    }

    void meet(const TraceEvent& event, std::uint32_t number) {
        Request request = blank(event, 0);
        request.lanes = event.lanes;
        std::uint32_t latest = 0;
        for (std::uint32_t rest = event.lanes; rest != 0; rest &= rest - 1) {
            const auto lane = static_cast<std::size_t>(std::countr_zero(rest));
            request.events[lane] = number;
            latest = std::max(latest, lanes_[lane].epoch);
        }
        epochs_[latest].meetings.push_back(request);
        for (std::uint32_t rest = event.lanes; rest != 0; rest &= rest - 1) {
            Lane& lane = lanes_[static_cast<std::size_t>(std::countr_zero(rest))];
            lane.epoch = latest + 1;
            lane.visits.clear();
        }
    }

    const TracedLaunch& launch_;
    std::map<std::uint32_t, Epoch> epochs_;
    std::array<Lane, 32> lanes_;
};

// Counts each byte once.
std::uint64_t distinct_bytes(const Request& request, const TracedLaunch& launch) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
    for (const std::uint32_t number : request.events)
        if (number != kNoEvent)
            ranges.emplace_back(launch.events[number].address, launch.events[number].address + launch.events[number].bytes);
    return covered_bytes(std::move(ranges));
}

void count_banks(Request& request, const TracedLaunch& launch) {
    std::vector<BankAccess> accesses;
    for (std::size_t lane = 0; lane < 32; ++lane) {
        if (request.events[lane] == kNoEvent) continue;
        const TraceEvent& event = launch.events[request.events[lane]];
        accesses.push_back({lane, event.address, event.bytes});
    }
    const BankCycles banks = bank_cycles(accesses);
    request.degree = banks.degree;
    request.cycles = banks.cycles;
    request.parts = banks.parts;
}

void count(Request& request, const TracedLaunch& launch) {
    if (!is_access(request.action)) return;
    std::vector<std::uintptr_t> sectors;
    for (const std::uint32_t number : request.events) {
        if (number == kNoEvent) continue;
        const TraceEvent& event = launch.events[number];
        request.asked += event.bytes;
        if (!event.shared) add_sectors(sectors, event.address, event.bytes);
    }
    request.needed = distinct_bytes(request, launch);
    request.sectors = sectors.size();
    if (request.shared) count_banks(request, launch);
}

}  // namespace

std::vector<Request> requests_of(const TracedLaunch& launch) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, WarpAlignment> warps;
    for (std::size_t i = 0; i < launch.events.size(); ++i) {
        const TraceEvent& event = launch.events[i];
        warps.try_emplace({event.block, event.thread / 32u}, launch).first->second.add(static_cast<std::uint32_t>(i));
    }
    std::vector<Request> all;
    for (const auto& [warp, alignment] : warps) alignment.append_to(all);
    for (Request& request : all) count(request, launch);
    return all;
}

std::uint32_t lanes_of_warp(const TracedLaunch& launch, std::uint32_t warp) {
    const std::uint32_t threads = launch.block.x * launch.block.y * launch.block.z;
    const std::uint32_t lanes = std::min<std::uint32_t>(32, threads - 32 * warp);
    return lanes == 32 ? ~std::uint32_t{0} : (std::uint32_t{1} << lanes) - 1;
}

void RequestTotals::add(const Request& request, std::uint32_t lanes_of_warp) {
    barriers += request.action == Action::barrier;
    collectives += request.action == Action::collective;
    waits += request.action == Action::copy_wait;
    if (!is_access(request.action)) return;
    divergent += request.lanes != lanes_of_warp;
    if (request.shared) {
        ++shared_requests;
        cycles += request.cycles;
        parts += request.parts;
        degree = std::max(degree, request.degree);
    } else {
        ++global_requests;
        asked += request.asked;
        needed += request.needed;
        sectors += request.sectors;
    }
}

void RequestTotals::add(const RequestTotals& other) {
    global_requests += other.global_requests;
    asked += other.asked;
    needed += other.needed;
    sectors += other.sectors;
    shared_requests += other.shared_requests;
    cycles += other.cycles;
    parts += other.parts;
    degree = std::max(degree, other.degree);
    divergent += other.divergent;
    barriers += other.barriers;
    collectives += other.collectives;
    waits += other.waits;
}

RequestTotals totals_of(const TracedLaunch& launch, const std::vector<Request>& requests) {
    RequestTotals totals;
    for (const Request& request : requests) totals.add(request, lanes_of_warp(launch, request.warp));
    return totals;
}

}  // namespace heddle::emulator
