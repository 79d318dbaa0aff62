// What an answer asks of memory against what it may ask for: which line costs most, and what would do there.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "apps/learn/grader/attempt.h"
#include "kernels/emulator/sectors.h"

namespace heddle::learn {
namespace {

// All requests of one line that read, or all that write.
struct LineCost {
    int line = 0;
    bool reads = false;
    std::uint64_t requests = 0, sectors = 0, least_sectors = 0, lanes = 0;  // global memory
    std::uint64_t shared_requests = 0, cycles = 0, parts = 0;               // shared memory
    std::uint32_t degree = 0;
    std::uint64_t asked_a_lane = 0;  // bytes, at most
};

std::vector<LineCost> lines_of(const std::vector<emulator::TracedLaunch>& launches, const std::string& source) {
    std::map<std::pair<int, bool>, LineCost> lines;
    for (const emulator::TracedLaunch& launch : launches)
        for (const emulator::Request& request : emulator::requests_of(launch)) {
            if (!emulator::is_access(request.action)) continue;
            std::size_t from = 0;
            const int number = line_in(launch.sites[request.site].place, source, from);
            const bool reads = request.action == emulator::Action::read || request.action == emulator::Action::copy_read;
            LineCost& line = lines[{number, reads}];
            line.line = number;
            line.reads = reads;
            if (request.shared) {
                ++line.shared_requests;
                line.cycles += request.cycles;
                line.parts += request.parts;
                line.degree = std::max(line.degree, request.degree);
            } else {
                ++line.requests;
                line.sectors += request.sectors;
                line.least_sectors += (request.needed + emulator::kSector - 1) / emulator::kSector;
                const auto lanes = static_cast<std::uint64_t>(__builtin_popcount(request.lanes));
                line.lanes += lanes;
                line.asked_a_lane = std::max(line.asked_a_lane, lanes == 0 ? 0 : request.asked / lanes);
            }
        }
    std::vector<LineCost> all;
    for (const auto& [key, line] : lines) all.push_back(line);
    return all;
}

template <class Weight>
const LineCost& heaviest(const std::vector<LineCost>& lines, Weight weight) {
    return *std::max_element(lines.begin(), lines.end(),
                             [&](const LineCost& a, const LineCost& b) { return weight(a) < weight(b); });
}

// "4", "4.5".
std::string per_request(std::uint64_t sum, std::uint64_t requests) {
    char text[32];
    const double value = static_cast<double>(sum) / static_cast<double>(std::max<std::uint64_t>(requests, 1));
    std::snprintf(text, sizeof text, value == std::floor(value) ? "%.0f" : "%.1f", value);
    return text;
}

std::string what(const LineCost& line, const char* whose = "") {
    return std::string(line.reads ? "reads" : "writes") + whose + " in line " + std::to_string(line.line);
}

Verdict too_dear(int line, const std::string& text, const Cost& cost) {
    return {.kind = "cost", .line = line, .text = "right, but " + text, .shape = "", .cost = cost};
}

Verdict sectors_verdict(const std::vector<LineCost>& lines, const Cost& cost, const Cost& most) {
    const LineCost& waste = heaviest(lines, [](const LineCost& line) { return line.sectors - line.least_sectors; });
    if (waste.sectors > waste.least_sectors)
        return too_dear(waste.line,
                        "each request touches " + per_request(waste.sectors, waste.requests) + " sectors of 32 bytes where " +
                            per_request(waste.least_sectors, waste.requests) + " would do: the " +
                            what(waste, " of neighbouring lanes") + " do not lie side by side in memory",
                        cost);
    const LineCost& most_sectors = heaviest(lines, [](const LineCost& line) { return line.sectors; });
    if (most_sectors.lanes < 16 * most_sectors.requests)
        return too_dear(most_sectors.line,
                        "it moves " + std::to_string(cost.sectors) + " sectors of 32 bytes where " +
                            std::to_string(most.sectors) + " would do: of the 32 lanes of a warp only " +
                            per_request(most_sectors.lanes, most_sectors.requests) + " take part in the " + what(most_sectors),
                        cost);
    return too_dear(most_sectors.line,
                    "it moves " + std::to_string(cost.sectors) + " sectors of 32 bytes where " + std::to_string(most.sectors) +
                        " would do: the " + what(most_sectors) + " touch " + std::to_string(most_sectors.sectors) +
                        " of them, some again and again",
                    cost);
}

std::uint64_t warps_of(const std::vector<emulator::TracedLaunch>& launches) {
    std::uint64_t warps = 0;
    for (const emulator::TracedLaunch& launch : launches) {
        const std::uint64_t blocks = std::uint64_t{launch.grid.x} * launch.grid.y * launch.grid.z;
        warps += blocks * ((std::uint64_t{launch.block.x} * launch.block.y * launch.block.z + 31) / 32);
    }
    return warps;
}

// The line of the source with the barrier that is met most often.
int busiest_barrier(const std::vector<emulator::TracedLaunch>& launches, const std::string& source) {
    std::map<int, std::uint64_t> met;
    for (const emulator::TracedLaunch& launch : launches)
        for (const emulator::TraceEvent& event : launch.events) {
            if (event.action != emulator::Action::barrier) continue;
            std::size_t from = 0;
            ++met[line_in(launch.sites[event.site].place, source, from)];
        }
    const auto most = std::max_element(met.begin(), met.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    return most == met.end() ? 0 : most->first;
}

}  // namespace

Cost cost_of(const std::vector<emulator::TracedLaunch>& launches) {
    Cost cost;
    for (const emulator::TracedLaunch& launch : launches) {
        const emulator::RequestTotals totals = emulator::totals_of(launch, emulator::requests_of(launch));
        cost.sectors += totals.sectors;
        cost.requests += totals.global_requests;
        cost.shared_cycles += totals.cycles;
        cost.barriers += totals.barriers;
    }
    return cost;
}

Verdict cost_verdict(const std::vector<emulator::TracedLaunch>& launches, const Cost& most, const std::string& source) {
    const Cost cost = cost_of(launches);
    const auto exceeds = [](std::uint64_t got, std::uint64_t limit) { return limit != 0 && got > limit; };
    const std::vector<LineCost> lines = lines_of(launches, source);
    if (exceeds(cost.sectors, most.sectors)) return sectors_verdict(lines, cost, most);
    if (exceeds(cost.requests, most.requests)) {
        const LineCost& line = heaviest(lines, [](const LineCost& one) { return one.requests; });
        return too_dear(line.line,
                        "it makes " + std::to_string(cost.requests) + " requests to memory where " +
                            std::to_string(most.requests) + " would do: in the " + what(line) + " each lane asks for " +
                            std::to_string(line.asked_a_lane) + " bytes at a time",
                        cost);
    }
    if (exceeds(cost.shared_cycles, most.shared_cycles)) {
        const LineCost& line = heaviest(lines, [](const LineCost& one) { return one.cycles - one.parts; });
        if (line.cycles > line.parts)
            return too_dear(line.line,
                            "the " + what(line) + " take " + per_request(line.cycles, line.shared_requests) +
                                " cycles of shared memory for each request where " +
                                per_request(line.parts, line.shared_requests) + " would do: up to " +
                                std::to_string(line.degree) + " lanes want different words of one bank",
                            cost);
        const LineCost& busiest = heaviest(lines, [](const LineCost& one) { return one.cycles; });
        return too_dear(busiest.line,
                        "shared memory is busy for " + std::to_string(cost.shared_cycles) + " cycles where " +
                            std::to_string(most.shared_cycles) + " would do, most of them for the " + what(busiest),
                        cost);
    }
    if (exceeds(cost.barriers, most.barriers)) {
        const std::uint64_t warps = std::max<std::uint64_t>(warps_of(launches), 1);
        const int line = busiest_barrier(launches, source);
        return too_dear(line,
                        "each warp waits at " + per_request(cost.barriers, warps) + " barriers where " +
                            per_request(most.barriers, warps) + " would do, most often in line " + std::to_string(line),
                        cost);
    }
    return {.text = "", .shape = "", .cost = cost};
}

}  // namespace heddle::learn
