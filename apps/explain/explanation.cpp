#include "apps/explain/explanation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "core/error.h"
#include "core/format.h"
#include "kernels/emulator/sectors.h"

namespace heddle::explain {

using emulator::Action;
using emulator::Request;
using emulator::TracedLaunch;

std::pair<std::string, int> file_and_line(const std::string& place) {
    const std::string first = place.substr(0, place.find(' '));
    const std::size_t colon = first.rfind(':');
    if (colon == std::string::npos) return {};
    int line = 0;
    std::from_chars(first.data() + colon + 1, first.data() + first.size(), line);
    return line > 0 ? std::pair(first.substr(0, colon), line) : std::pair<std::string, int>();
}

namespace {

std::uint64_t least_bytes(const TracedLaunch& launch) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> read, written;
    for (const emulator::TraceEvent& event : launch.events) {
        if (!is_access(event.action) || event.shared) continue;
        const bool reads = event.action == Action::read || event.action == Action::copy_read || event.action == Action::atomic;
        if (reads) read.emplace_back(event.address, event.address + event.bytes);
        if (!reads || event.action == Action::atomic) written.emplace_back(event.address, event.address + event.bytes);
    }
    return emulator::covered_bytes(std::move(read)) + emulator::covered_bytes(std::move(written));
}

LaunchReport report_of(const TracedLaunch& launch) {
    LaunchReport report{.launch = &launch, .requests = requests_of(launch), .totals = {}, .lines = {}, .least_bytes = 0};
    report.totals = totals_of(launch, report.requests);
    report.least_bytes = least_bytes(launch);
    std::map<std::pair<std::string, int>, emulator::RequestTotals> lines;
    for (const Request& request : report.requests) {
        const auto place = file_and_line(launch.sites[request.site].place);
        if (!place.first.empty()) lines[place].add(request, lanes_of_warp(launch, request.warp));
    }
    for (const auto& [place, totals] : lines) report.lines.push_back({place.first, place.second, totals});
    return report;
}

}  // namespace

Explanation explained(const Example& example, std::vector<std::int64_t> shape) {
    if (shape.empty()) shape = example.shape;
    const std::string text = fmt::format("{}", fmt::join(shape, ","));
    check_usage(shape.size() == example.shape.size() && std::ranges::all_of(shape, [](std::int64_t n) { return n > 0; }),
                fmt::format("--shape {}: heddle explain {} wants numbers above 0 for {}", text, example.name, example.axes));
    Explanation result{.example = &example,
                       .shape = shape,
                       .command = fmt::format("heddle explain {} --shape {}", example.name, text),
                       .session = {},
                       .launches = {}};
    try {
        example.run(result.session, result.shape);
    } catch (const Error& error) {
        const bool is_full = std::string_view(error.what()).find("that a trace holds") != std::string_view::npos;
        if (is_full) fail_with("--shape {}: too large to be explained; choose smaller {} ({})", text, example.axes, error.what());
        throw;
    }
    for (const TracedLaunch& launch : result.session.launches()) result.launches.push_back(report_of(launch));
    heddle::check(!result.launches.empty(), "heddle explain {}: the op launched no kernel for the shape {}", example.name, text);
    return result;
}

}  // namespace heddle::explain
