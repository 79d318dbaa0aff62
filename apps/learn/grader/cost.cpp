// Compares an answer's cost with its budget: the line that costs most, and the cost that would be enough there.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "apps/learn/grader/attempt.h"
#include "kernels/emulator/trace/costs.h"

namespace heddle::learn {
namespace {

// All requests of one line that read one array, or all that write it.
struct LineCost {
    int line = 0;
    bool reads = false;
    const Array* array = nullptr;  // null: shared memory
    emulator::RequestTotals totals;
    std::uint64_t least_sectors = 0, lanes = 0;  // of the requests to global memory
    std::uint64_t asked_a_lane = 0;              // bytes of these, at most
};

bool is_read(emulator::Action action) { return action == emulator::Action::read || action == emulator::Action::copy_read; }

std::uint64_t first_address(const emulator::TracedLaunch& launch, const emulator::Request& request) {
    for (const std::uint32_t event : request.events)
        if (event != emulator::kNoEvent) return launch.events[event].address;
    return 0;
}

std::vector<LineCost> lines_of(const std::vector<RecordedLaunch>& launches, const std::string& source,
                               const std::vector<Array>& arrays) {
    std::map<std::tuple<int, bool, const Array*>, LineCost> lines;
    for (const auto& [trace, requests] : launches)
        for (const emulator::Request& request : requests) {
            if (!emulator::is_access(request.action)) continue;
            const int number = line_in(trace.sites[request.site].place, source);
            const bool reads = is_read(request.action);
            const Array* const array = request.shared ? nullptr : array_with(first_address(trace, request), arrays);
            LineCost& line = lines[{number, reads, array}];
            line.line = number;
            line.reads = reads;
            line.array = array;
            line.totals.add(request, emulator::lanes_of_warp(trace, request.warp));
            if (request.shared) continue;
            line.least_sectors += (request.needed + emulator::kSector - 1) / emulator::kSector;
            const auto lanes = static_cast<std::uint64_t>(__builtin_popcount(request.lanes));
            line.lanes += lanes;
            line.asked_a_lane = std::max(line.asked_a_lane, lanes == 0 ? 0 : request.asked / lanes);
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
    const double value = static_cast<double>(sum) / static_cast<double>(std::max<std::uint64_t>(requests, 1));
    return value == std::floor(value) ? fmt::format("{:.0f}", value) : fmt::format("{:.1f}", value);
}

// "writes of y by neighbouring lanes in line 6".
std::string what(const LineCost& line, const char* whose = "") {
    return fmt::format("{}{}{} in line {}", line.reads ? "reads" : "writes",
                       line.array == nullptr ? "" : " of " + line.array->name, whose, line.line);
}

Verdict too_dear(int line, const std::string& text, const Cost& cost) {
    return {.kind = "cost", .line = line, .text = "right, but " + text, .cost = cost};
}

// The numbers of different sectors of each array that are read and that are written. With `by_block` each block's are counted
// alone and added up.
using ArraySectors = std::map<std::pair<const Array*, bool>, std::uint64_t>;
ArraySectors sectors_of_arrays(const std::vector<RecordedLaunch>& launches, const std::vector<Array>& arrays, bool by_block) {
    std::map<std::pair<const Array*, bool>, std::set<std::pair<std::uint32_t, std::uint64_t>>> touched;
    for (const auto& [trace, requests] : launches)
        for (const emulator::TraceEvent& event : trace.events) {
            if (event.shared || !emulator::is_access(event.action) || event.bytes == 0) continue;
            auto& sectors = touched[{array_with(event.address, arrays), is_read(event.action)}];
            for (std::uint64_t sector = event.address / emulator::kSector;
                 sector <= (event.address + event.bytes - 1) / emulator::kSector; ++sector)
                sectors.insert({by_block ? event.block : 0, sector});
        }
    ArraySectors counts;
    for (const auto& [key, sectors] : touched) counts[key] = sectors.size();
    return counts;
}

// "(line 8)", "(lines 8, 13 and 16)".
std::string list_of(const std::vector<int>& lines) {
    std::string text = lines.size() == 1 ? "(line " : "(lines ";
    for (std::size_t i = 0; i < lines.size(); ++i)
        text += (i == 0 ? "" : i + 1 == lines.size() ? " and " : ", ") + std::to_string(lines[i]);
    return text + ")";
}

// Finds the array with the most repeated accesses; reads and writes count separately. Returns its line with the most sectors, the
// last one of several, and "x is read 3 times (lines 8, 13 and 16); 2 would do". `excess`: the sectors over the budget.
std::pair<int, std::string> repeated_accesses(const std::vector<LineCost>& lines, const ArraySectors& different,
                                              std::uint64_t excess) {
    ArraySectors moved;
    for (const LineCost& line : lines)
        if (line.totals.sectors > 0) moved[{line.array, line.reads}] += line.totals.sectors;
    std::pair<const Array*, bool> worst;
    std::uint64_t most_repeated = 0;
    for (const auto& [key, sectors] : moved)
        if (const std::uint64_t repeated = sectors - std::min(sectors, different.at(key)); repeated >= most_repeated) {
            worst = key;
            most_repeated = repeated;
        }
    int number = 0;
    std::uint64_t most = 0;
    std::vector<int> numbers;
    for (const LineCost& line : lines) {
        if (line.array != worst.first || line.reads != worst.second || line.totals.sectors == 0) continue;
        numbers.push_back(line.line);
        if (line.totals.sectors < most) continue;
        number = line.line;
        most = line.totals.sectors;
    }
    const std::uint64_t all = moved[worst], once = different.at(worst);
    std::string text = fmt::format("{} is {} {} times {}", worst.first == nullptr ? "memory" : worst.first->name,
                                   worst.second ? "read" : "written", per_request(all, once), list_of(numbers));
    const std::uint64_t enough = all > excess ? (all - excess + once / 2) / once : 0;
    if (enough > 0 && enough * once < all) text += fmt::format("; {} would do", enough);
    return {number, text};
}

Verdict sectors_verdict(const std::vector<RecordedLaunch>& launches, const std::vector<LineCost>& lines, const Cost& cost,
                        const Cost& most, const std::vector<Array>& arrays) {
    const LineCost& waste = heaviest(lines, [](const LineCost& line) { return line.totals.sectors - line.least_sectors; });
    if (waste.totals.sectors > waste.least_sectors)
        return too_dear(
            waste.line,
            fmt::format("each request touches {} sectors of 32 bytes where {} would do: the {} do not lie side by side in "
                        "memory",
                        per_request(waste.totals.sectors, waste.totals.global_requests),
                        per_request(waste.least_sectors, waste.totals.global_requests), what(waste, " by neighbouring lanes")),
            cost);
    const std::string moves = fmt::format("it moves {} sectors of 32 bytes where {} would do: ", cost.sectors, most.sectors);
    const LineCost& most_sectors = heaviest(lines, [](const LineCost& line) { return line.totals.sectors; });
    if (most_sectors.lanes < 16 * most_sectors.totals.global_requests) {
        const std::string lanes = per_request(most_sectors.lanes, most_sectors.totals.global_requests);
        return too_dear(most_sectors.line,
                        fmt::format("{}of the 32 lanes of a warp only {} {} part in the {}", moves, lanes,
                                    lanes == "1" ? "takes" : "take", what(most_sectors)),
                        cost);
    }
    // A block could keep what it accesses twice in registers or shared memory. If no block does, several blocks access the same.
    ArraySectors different = sectors_of_arrays(launches, arrays, true);
    std::uint64_t once = 0;
    for (const auto& [key, sectors] : different) once += sectors;
    if (once >= cost.sectors) different = sectors_of_arrays(launches, arrays, false);
    const auto [line, repeats] = repeated_accesses(lines, different, cost.sectors - most.sectors);
    return too_dear(line, moves + repeats, cost);
}

std::uint64_t warps_of(const std::vector<RecordedLaunch>& launches) {
    std::uint64_t warps = 0;
    for (const auto& [trace, requests] : launches) {
        const std::uint64_t blocks = std::uint64_t{trace.grid.x} * trace.grid.y * trace.grid.z;
        warps += blocks * ((std::uint64_t{trace.block.x} * trace.block.y * trace.block.z + 31) / 32);
    }
    return warps;
}

// The line of the source with the barrier that is met most often.
int busiest_barrier(const std::vector<RecordedLaunch>& launches, const std::string& source) {
    std::map<int, std::uint64_t> met;
    for (const auto& [trace, requests] : launches)
        for (const emulator::TraceEvent& event : trace.events)
            if (event.action == emulator::Action::barrier) ++met[line_in(trace.sites[event.site].place, source)];
    const auto most = std::max_element(met.begin(), met.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    return most == met.end() ? 0 : most->first;
}

}  // namespace

Cost cost_of(const std::vector<RecordedLaunch>& launches) {
    emulator::RequestTotals totals;
    for (const auto& [trace, requests] : launches) totals.add(emulator::totals_of(trace, requests));
    return {.sectors = totals.sectors,
            .requests = totals.global_requests,
            .shared_cycles = totals.cycles,
            .barriers = totals.barriers};
}

Verdict cost_verdict(const std::vector<RecordedLaunch>& launches, const Cost& most, const std::string& source,
                     const std::vector<Array>& arrays) {
    const Cost cost = cost_of(launches);
    const auto exceeds = [](std::uint64_t got, std::uint64_t limit) { return limit != 0 && got > limit; };
    const std::vector<LineCost> lines = lines_of(launches, source, arrays);
    if (exceeds(cost.sectors, most.sectors)) return sectors_verdict(launches, lines, cost, most, arrays);
    if (exceeds(cost.requests, most.requests)) {
        const LineCost& line = heaviest(lines, [](const LineCost& one) { return one.totals.global_requests; });
        return too_dear(
            line.line,
            fmt::format("it makes {} requests to memory where {} would do: in the {} each lane asks for {} bytes at a time",
                        cost.requests, most.requests, what(line), line.asked_a_lane),
            cost);
    }
    if (exceeds(cost.shared_cycles, most.shared_cycles)) {
        const LineCost& line = heaviest(lines, [](const LineCost& one) { return one.totals.cycles - one.totals.parts; });
        if (line.totals.cycles > line.totals.parts)
            return too_dear(
                line.line,
                fmt::format("a bank conflict: in the {} up to {} lanes want different words of one bank, so that a request "
                            "takes {} cycles of shared memory where {} would do; in all {} cycles, and {} are allowed",
                            what(line), line.totals.degree, per_request(line.totals.cycles, line.totals.shared_requests),
                            per_request(line.totals.parts, line.totals.shared_requests), cost.shared_cycles, most.shared_cycles),
                cost);
        const LineCost& busiest = heaviest(lines, [](const LineCost& one) { return one.totals.cycles; });
        return too_dear(busiest.line,
                        fmt::format("shared memory is busy for {} cycles where {} would do, most of them for the {}",
                                    cost.shared_cycles, most.shared_cycles, what(busiest)),
                        cost);
    }
    if (exceeds(cost.barriers, most.barriers)) {
        const std::uint64_t warps = std::max<std::uint64_t>(warps_of(launches), 1);
        const int line = busiest_barrier(launches, source);
        return too_dear(line,
                        fmt::format("each warp waits at {} barriers where {} would do, most often in line {}",
                                    per_request(cost.barriers, warps), per_request(most.barriers, warps), line),
                        cost);
    }
    return {.text = "", .cost = cost};
}

}  // namespace heddle::learn
