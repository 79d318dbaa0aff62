#include "apps/explain/explanation.h"

#include <charconv>

#include "kernels/emulator/trace/costs.h"

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

std::uint64_t TracedTensor::bytes() const {
    std::uint64_t elements = 1;
    for (const std::int64_t extent : shape) elements *= static_cast<std::uint64_t>(extent);
    return elements * static_cast<std::uint64_t>(size_of(dtype));
}

std::vector<LaunchReport> reports_of(const std::vector<TracedLaunch>& launches) {
    std::vector<LaunchReport> reports;
    for (const TracedLaunch& launch : launches) reports.push_back(report_of(launch));
    return reports;
}

}  // namespace heddle::explain
