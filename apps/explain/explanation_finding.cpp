#include "apps/explain/explanation_finding.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <regex>

namespace heddle::explain {
namespace {

using emulator::kNoEvent;
using emulator::Request;
using emulator::TracedLaunch;
using emulator::TraceEvent;
using nlohmann::ordered_json;

// A variable that names a piece of shared memory.
struct Take {
    std::string name;
    std::uint32_t element_bytes = 4;
};

std::uint32_t bytes_of_type(std::string type) {
    static const std::map<std::string, std::uint32_t> known = {
        {"double", 8}, {"bf16", 2}, {"float2", 8}, {"float4", 16}, {"char", 1}};
    type.erase(0, type.rfind(':') + 1);  // keep what follows the last colon, if any
    const auto found = known.find(type);
    return found == known.end() ? 4 : found->second;
}

// The type of an array in shared memory that CUDA C++ declares: `__shared__ float4 tile[32]`.
std::uint32_t bytes_of_declared(const std::string& text, const std::string& name) {
    const std::regex declaration(R"(__shared__\b[^;]*?\b([A-Za-z_]\w*)\s+(?:[^;]*,\s*)?)" + name + R"(\s*[\[;,])");
    std::smatch found;
    return std::regex_search(text, found, declaration) ? bytes_of_type(found[1]) : 4;
}

// The variables of the launch's pieces. Those without a name are all takes in source order, ignoring comments: empty unless there
// are as many, since takes and pieces then do not match.
std::vector<Take> takes_of(const Explanation& explanation, const std::vector<emulator::TracedPiece>& pieces) {
    static const std::regex comment(R"(//[^\n]*)");
    static const std::regex take(R"((\w+)\s*=\s*(?:\w+\s*\.\s*take|(?:\w+::)*shared)\s*<\s*([\w:]+)\s*>)");
    const bool has_names = std::ranges::any_of(pieces, [](const emulator::TracedPiece& piece) { return !piece.name.empty(); });
    std::vector<Take> takes;
    std::string all;
    for (const auto& [file, source] : explanation.sources) {
        const std::string text = std::regex_replace(source, comment, "");
        all += text;
        for (std::sregex_iterator at(text.begin(), text.end(), take), end; at != end && !has_names; ++at)
            takes.push_back({(*at)[1], bytes_of_type((*at)[2])});
    }
    if (has_names)
        for (const emulator::TracedPiece& piece : pieces) takes.push_back({piece.name, bytes_of_declared(all, piece.name)});
    if (takes.size() != pieces.size()) takes.clear();
    return takes;
}

std::string shared_name(const Explanation& explanation, const TracedLaunch& launch, std::uint64_t offset) {
    const std::vector<Take> takes = takes_of(explanation, launch.pieces);
    std::size_t found = takes.size();
    for (std::size_t i = 0; i < takes.size(); ++i)
        if (offset >= launch.pieces[i].start && (found == takes.size() || launch.pieces[i].start >= launch.pieces[found].start))
            found = i;
    if (found == takes.size() || takes[found].name.empty()) return "";
    return fmt::format("{}[{}]", takes[found].name, (offset - launch.pieces[found].start) / takes[found].element_bytes);
}

// "y[3]", "y[1, 3]"; past the end of the tensor the first index exceeds its extent.
std::string tensor_element(const TracedTensor& tensor, std::uint64_t address) {
    auto rest = static_cast<std::int64_t>(address - tensor.start) / size_of(tensor.dtype);
    std::vector<std::int64_t> index(tensor.shape.size());
    for (std::size_t axis = tensor.shape.size(); axis-- > 0;) {
        index[axis] = axis == 0 ? rest : rest % tensor.shape[axis];
        rest /= tensor.shape[axis];
    }
    return fmt::format("{}[{}]", tensor.name, fmt::join(index, ", "));
}

// Index of the event among the steps of its warp, or -1.
std::int64_t step_of(const LaunchReport& report, std::uint32_t number) {
    const TraceEvent& event = report.launch->events[number];
    std::int64_t step = 0;
    for (const Request& request : report.requests) {
        if (request.block != event.block || request.warp != event.thread / 32u) continue;
        if (request.events[event.thread % 32] == number) return step;
        ++step;
    }
    return -1;
}

ordered_json access_of(const Explanation& explanation, std::size_t launch_number, std::uint32_t number) {
    const LaunchReport& report = explanation.launches[launch_number];
    const TraceEvent& event = report.launch->events[number];
    std::string element;
    if (event.shared)
        element = shared_name(explanation, *report.launch, event.address);
    else if (const int tensor = nearest_tensor(explanation.tensors, event.address); tensor >= 0)
        element = tensor_element(explanation.tensors[static_cast<std::size_t>(tensor)], event.address);
    return {{"launch", launch_number},
            {"block", event.block},
            {"thread", event.thread},
            {"warp", event.thread / 32},
            {"lane", event.thread % 32},
            {"step", step_of(report, number)},
            {"site", event.site},
            {"action", word_of(event.action)},
            {"memory", event.shared ? "shared" : "global"},
            {"element", element},
            {"bytes", event.bytes},
            {"offset", event.shared ? ordered_json(event.address) : ordered_json()}};
}

}  // namespace

int nearest_tensor(const std::vector<TracedTensor>& tensors, std::uint64_t address) {
    int found = -1;
    std::uint64_t least = ~std::uint64_t{0};
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        const std::uint64_t start = tensors[i].start, end = start + tensors[i].bytes();
        const std::uint64_t distance = address < start ? start - address : address < end ? 0 : address - end + 1;
        if (distance >= least) continue;
        least = distance;
        found = static_cast<int>(i);
    }
    return found;
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> warps_of_mistake(const TracedLaunch& launch) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> warps;
    for (const std::uint32_t number : {launch.mistake, launch.earlier})
        if (number != kNoEvent) warps.emplace_back(launch.events[number].block, launch.events[number].thread / 32);
    return warps;
}

ordered_json pieces_of(const Explanation& explanation, const TracedLaunch& launch) {
    const std::vector<Take> takes = takes_of(explanation, launch.pieces);
    ordered_json pieces = ordered_json::array();
    std::vector<std::size_t> order;  // by start: the page takes the last one that begins before an offset
    for (std::size_t i = 0; i < takes.size(); ++i)
        if (!takes[i].name.empty()) order.push_back(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return launch.pieces[a].start < launch.pieces[b].start; });
    for (const std::size_t i : order)
        pieces.push_back({{"name", takes[i].name},
                          {"start", launch.pieces[i].start},
                          {"bytes", launch.pieces[i].bytes},
                          {"element_bytes", takes[i].element_bytes}});
    return pieces;
}

ordered_json json_of_finding(const Explanation& explanation) {
    const Finding& finding = *explanation.finding;
    ordered_json accesses = ordered_json::array();
    for (std::size_t i = 0; i < explanation.launches.size(); ++i)
        for (const std::uint32_t number : {explanation.traced[i].earlier, explanation.traced[i].mistake})
            if (number != kNoEvent) accesses.push_back(access_of(explanation, i, number));
    return {{"kind", finding.kind},
            {"text", finding.text},
            {"file", finding.file},
            {"line", finding.line},
            {"other_line", finding.other_line},
            {"accesses", accesses}};
}

}  // namespace heddle::explain
