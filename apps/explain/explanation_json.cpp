// An explanation as JSON: what --json prints and the page reads (docs/explain.md).
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <optional>

#include "apps/explain/arithmetic.h"
#include "apps/explain/explanation.h"
#include "apps/explain/explanation_finding.h"
#include "core/file.h"
#include "kernels/emulator/trace/costs.h"

namespace heddle::explain {
namespace {

using emulator::Action;
using emulator::Request;
using emulator::TracedLaunch;
using emulator::TraceEvent;
using nlohmann::ordered_json;

ordered_json json_of(const emulator::RequestTotals& totals) {
    return {{"global_requests", totals.global_requests},
            {"asked_bytes", totals.asked},
            {"needed_bytes", totals.needed},
            {"sectors", totals.sectors},
            {"moved_bytes", 32 * totals.sectors},
            {"shared_requests", totals.shared_requests},
            {"shared_cycles", totals.cycles},
            {"least_shared_cycles", totals.parts},
            {"worst_conflict", totals.degree},
            {"divergent_requests", totals.divergent},
            {"barriers", totals.barriers},
            {"collectives", totals.collectives},
            {"copy_waits", totals.waits}};
}

template <class T>
T part_of(const TraceEvent& event, std::size_t at) {
    T value;
    std::memcpy(&value, event.value.data() + at, sizeof value);
    return value;
}

// Shared memory and workspaces have no declared type: 4 bytes are shown as a float, or as an index if the float would be
// implausible.
std::string guessed(std::uint32_t bits) {
    const float value = std::bit_cast<float>(bits);
    if (bits != 0 && !(std::abs(value) >= 1e-35f) && !std::isnan(value))
        return fmt::format("{}", static_cast<std::int32_t>(bits));
    return fmt::format("{:.4g}", value);
}

std::string value_text(const TraceEvent& event, std::optional<DType> dtype, bool bf16_here) {
    const std::size_t bytes = std::min<std::size_t>(event.bytes, event.value.size());
    if (!dtype) {
        if (bytes == 2 || (bf16_here && bytes >= 8)) dtype = DType::bf16;
        if (bytes == 1) dtype = DType::u8;
    }
    const std::size_t size = dtype ? static_cast<std::size_t>(size_of(*dtype)) : 4;
    std::string text;
    for (std::size_t at = 0; at + size <= bytes; at += size) {
        if (!text.empty()) text += ' ';
        if (!dtype)
            text += guessed(part_of<std::uint32_t>(event, at));
        else if (*dtype == DType::f32)
            text += fmt::format("{:.4g}", part_of<float>(event, at));
        else if (*dtype == DType::bf16)
            text += fmt::format("{:.3g}", static_cast<float>(part_of<bf16>(event, at)));
        else if (*dtype == DType::f64)
            text += fmt::format("{:.4g}", part_of<double>(event, at));
        else if (*dtype == DType::i32)
            text += fmt::format("{}", part_of<std::int32_t>(event, at));
        else
            text += fmt::format("{}", part_of<std::uint8_t>(event, at));
    }
    return text;
}

// All tensors, then the unnamed memory.
class Memory {
  public:
    explicit Memory(const Explanation& explanation) : tensors_(explanation.tensors) {
        for (const TracedLaunch& launch : explanation.traced)
            for (const TraceEvent& event : launch.events)
                if (is_access(event.action) && !event.shared && tensor_of(event.address) < 0)
                    unnamed_ = std::min(unnamed_, event.address);
        unnamed_ -= unnamed_ % emulator::kSector;
    }
    /// Index of the tensor that contains the address, or -1.
    int tensor_of(std::uint64_t address) const {
        for (std::size_t i = 0; i < tensors_.size(); ++i)
            if (address - tensors_[i].start < tensors_[i].bytes()) return static_cast<int>(i);
        return -1;
    }
    int nearest(std::uint64_t address) const { return nearest_tensor(tensors_, address); }
    std::int64_t offset(std::uint64_t address, int tensor) const {
        return static_cast<std::int64_t>(address - (tensor < 0 ? unnamed_ : tensors_[static_cast<std::size_t>(tensor)].start));
    }
    std::optional<DType> dtype(int tensor) const {
        if (tensor < 0) return {};
        return tensors_[static_cast<std::size_t>(tensor)].dtype;
    }
    ordered_json json() const {
        ordered_json all = ordered_json::array();
        for (const TracedTensor& one : tensors_)
            all.push_back(
                {{"name", one.name}, {"shape", one.shape}, {"dtype", name(one.dtype)}, {"element_bytes", size_of(one.dtype)}});
        return all;
    }

  private:
    const std::vector<TracedTensor>& tensors_;
    std::uint64_t unnamed_ = ~std::uint64_t{0};
};

// Adds the lanes' offsets: "offset" and "stride" if they are evenly spaced, else "offsets".
void add_offsets(ordered_json& step, const std::vector<std::pair<int, std::int64_t>>& offsets) {
    const std::int64_t first = offsets.front().second;
    std::int64_t stride = 0;
    if (offsets.size() > 1) stride = (offsets[1].second - first) / (offsets[1].first - offsets[0].first);
    bool is_regular = true;
    for (const auto& [lane, offset] : offsets) is_regular &= offset == first + stride * (lane - offsets.front().first);
    if (is_regular) {
        step["offset"] = first;
        step["stride"] = stride;
        return;
    }
    step["offsets"] = ordered_json::array();
    for (const auto& [lane, offset] : offsets) step["offsets"].push_back(offset);
}

void add_access(ordered_json& step, const Request& request, const TracedLaunch& launch, const Memory& memory, bool bf16_here) {
    step["memory"] = request.shared ? "shared" : "global";
    std::vector<std::pair<int, std::int64_t>> offsets;
    ordered_json values = ordered_json::array(), tensors = ordered_json::array();
    int first_tensor = -1;
    bool many_tensors = false;
    for (int lane = 0; lane < 32; ++lane) {
        const std::uint32_t number = request.events[static_cast<std::size_t>(lane)];
        if (number == emulator::kNoEvent) continue;
        const TraceEvent& event = launch.events[number];
        const bool is_mistake = number == launch.mistake && !launch.mistake_is_made;
        const int tensor = request.shared ? -1 : is_mistake ? memory.nearest(event.address) : memory.tensor_of(event.address);
        if (offsets.empty()) {
            step["bytes"] = event.bytes;
            first_tensor = tensor;
        }
        many_tensors |= tensor != first_tensor;
        tensors.push_back(tensor);
        const auto offset = request.shared ? static_cast<std::int64_t>(event.address) : memory.offset(event.address, tensor);
        offsets.emplace_back(lane, offset);
        const auto dtype = request.shared ? std::optional<DType>() : memory.dtype(tensor);
        if (request.action != Action::copy_write) values.push_back(is_mistake ? "?" : value_text(event, dtype, bf16_here));
    }
    if (many_tensors)
        step["tensors"] = tensors;
    else if (!request.shared)
        step["tensor"] = first_tensor;
    step["asked"] = request.asked;
    step["needed"] = request.needed;
    if (request.shared) {
        step["degree"] = request.degree;
        step["cycles"] = request.cycles;
        step["parts"] = request.parts;
    } else {
        step["sectors"] = request.sectors;
    }
    add_offsets(step, offsets);
    if (!values.empty()) step["values"] = values;
}

// A lane's value in an exchange. Its type is not known: 4 bytes as in shared memory, 8 where the upper four are used.
std::string exchanged_text(std::uint64_t bits, bool is_integer) {
    const auto low = static_cast<std::uint32_t>(bits);
    if (is_integer) return fmt::format("{}", static_cast<std::int32_t>(low));
    return bits >> 32 != 0 ? fmt::format("{:.4g}", std::bit_cast<double>(bits)) : guessed(low);
}

// "before" of each lane that met, and of a shuffle "from", the lane whose value it has after it (-1: none); else "after".
void add_exchange(ordered_json& step, const Request& request, const TracedLaunch& launch) {
    const TraceEvent& event = launch.events[request.events[static_cast<std::size_t>(std::countr_zero(request.lanes))]];
    if (event.address == 0) return;
    const emulator::TracedExchange& exchange = launch.exchanges[event.address - 1];
    const std::string& what = launch.sites[request.site].what;
    const bool is_integer = what.starts_with("__ballot") || what.starts_with("__reduce");
    ordered_json before = ordered_json::array(), after = ordered_json::array(), from = ordered_json::array();
    bool is_shuffle = false;
    for (std::size_t lane = 0; lane < 32; ++lane) {
        if ((request.lanes >> lane & 1) == 0) continue;
        const bool has_source = exchange.from[lane] < 32;
        is_shuffle |= has_source;
        before.push_back(exchanged_text(exchange.before[lane], is_integer));
        const bool is_mask = what.starts_with("__ballot") || what.starts_with("__match");
        after.push_back(is_mask ? fmt::format("{:#010x}", exchange.after[lane])
                                : exchanged_text(exchange.after[lane], is_integer));
        from.push_back(has_source ? exchange.from[lane] : -1);
    }
    step["before"] = before;
    step[is_shuffle ? "from" : "after"] = is_shuffle ? from : after;
}

ordered_json json_of(const Request& request, const TracedLaunch& launch, const Memory& memory, bool bf16_here) {
    ordered_json step = {{"site", request.site}, {"action", word_of(request.action)}, {"lanes", request.lanes}};
    if (is_access(request.action)) add_access(step, request, launch, memory, bf16_here);
    if (request.action == Action::collective) add_exchange(step, request, launch);
    if (request.action == Action::copy_wait)
        step["pending"] = launch.events[request.events[static_cast<std::size_t>(std::countr_zero(request.lanes))]].address;
    return step;
}

ordered_json sites_of(const TracedLaunch& launch) {
    ordered_json sites = ordered_json::array();
    for (const emulator::TraceSite& site : launch.sites) {
        const auto [file, line] = file_and_line(site.place);
        ordered_json one = {{"file", file}, {"line", line}};
        if (!site.what.empty()) one["what"] = site.what;
        if (const std::size_t inside = site.place.find(" (in "); inside != std::string::npos)
            one["inside"] = site.place.substr(inside + 5, site.place.size() - inside - 6);
        sites.push_back(one);
    }
    return sites;
}

ordered_json dimensions(const dim3& size) { return {size.x, size.y, size.z}; }

// Splits the requests by warp.
std::vector<std::span<const Request>> warps_of(const LaunchReport& report) {
    std::vector<std::span<const Request>> warps;
    const std::vector<Request>& all = report.requests;
    for (std::size_t begin = 0, end = 0; begin < all.size(); begin = end) {
        while (end < all.size() && all[end].block == all[begin].block && all[end].warp == all[begin].warp) ++end;
        warps.emplace_back(all.data() + begin, end - begin);
    }
    return warps;
}

// As many warps as fit into `budget` bytes, which is reduced; those involved in a mistake come first. With `may_cut`, if not
// even the first fits, its first steps.
ordered_json shown_warps(const LaunchReport& report, const Memory& memory, bool bf16_here, std::size_t& budget, bool may_cut) {
    const std::vector<std::span<const Request>> all = warps_of(report);
    const auto wanted = warps_of_mistake(*report.launch);
    std::vector<std::size_t> order(all.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    // Not std::ranges::stable_partition: see tests/compilers.sh.
    std::stable_partition(order.begin(), order.end(), [&](std::size_t i) {
        return std::ranges::find(wanted, std::pair(all[i].front().block, all[i].front().warp)) != wanted.end();
    });
    std::map<std::size_t, ordered_json> shown;  // sorted by warp
    for (const std::size_t i : order) {
        ordered_json warp = {{"block", all[i].front().block}, {"warp", all[i].front().warp}, {"steps", ordered_json::array()}};
        if (may_cut) warp["is_cut"] = true;
        std::size_t bytes = warp.dump().size() + 1;  // and a comma
        std::size_t steps = 0;
        for (; steps < all[i].size() && bytes <= budget; ++steps) {
            ordered_json step = json_of(all[i][steps], *report.launch, memory, bf16_here);
            bytes += step.dump().size() + 1;
            if (bytes <= budget) warp["steps"].push_back(std::move(step));
        }
        const bool is_whole = bytes <= budget;
        if (!is_whole && (!may_cut || !shown.empty() || warp["steps"].empty())) break;
        if (is_whole) warp.erase("is_cut");
        shown[i] = std::move(warp);
        budget -= std::min(bytes, budget);
        if (!is_whole) break;
    }
    ordered_json warps = ordered_json::array();
    for (auto& [number, warp] : shown) warps.push_back(std::move(warp));
    return warps;
}

void add_source(ordered_json& sources, const std::string& file) {
    if (file.empty() || sources.contains(file)) return;
    const std::filesystem::path path = std::filesystem::path(HEDDLE_SOURCE_DIR) / file;
    if (std::filesystem::is_regular_file(path)) sources[file] = read_file(path);
}

ordered_json json_of(const Explanation& explanation, std::size_t step_bytes) {
    const Memory memory(explanation);
    ordered_json launches = ordered_json::array(), sources = ordered_json::object();
    for (const auto& [file, text] : explanation.sources) sources[file] = text;
    for (const LaunchReport& report : explanation.launches) {
        ordered_json lines = ordered_json::array();
        for (const LineTotals& line : report.lines) {
            lines.push_back({{"file", line.file}, {"line", line.line}, {"totals", json_of(line.totals)}});
            add_source(sources, line.file);
        }
        launches.push_back(
            {{"kernel", report.launch->kernel},
             {"grid", dimensions(report.launch->grid)},
             {"block", dimensions(report.launch->block)},
             {"shared_bytes", report.launch->shared_bytes},
             {"least_bytes", report.least_bytes},
             {"totals", json_of(report.totals)},
             {"lines", lines},
             {"sites", sites_of(*report.launch)},
             {"warps_in_all", warps_of(report).size()},
             {"warps", shown_warps(report, memory, explanation.bf16, step_bytes, explanation.finding.has_value())}});
        if (ordered_json pieces = pieces_of(explanation, *report.launch); !pieces.empty()) launches.back()["pieces"] = pieces;
        if (report.launch->is_cut) launches.back()["is_cut"] = true;
    }
    ordered_json result = {
        {"op", explanation.name},         {"title", explanation.title}, {"axes", explanation.axes}, {"shape", explanation.shape},
        {"command", explanation.command}, {"tensors", memory.json()},   {"launches", launches},     {"sources", sources}};
    if (const std::optional<Arithmetic> arithmetic = arithmetic_of(explanation)) result["arithmetic"] = json_of(*arithmetic);
    if (explanation.finding) result["finding"] = json_of_finding(explanation);
    return result;
}

}  // namespace

const char* word_of(Action action) {
    constexpr const char* words[] = {"read",   "write", "atomic",     "copy-read", "copy-write",
                                     "commit", "wait",  "collective", "barrier"};
    return words[static_cast<std::size_t>(action)];
}

ordered_json json_of(std::span<const Explanation> explanations, std::size_t step_bytes) {
    if (explanations.size() == 1) return json_of(explanations.front(), step_bytes);
    ordered_json versions = ordered_json::array();
    for (const Explanation& one : explanations) versions.push_back(json_of(one, step_bytes / explanations.size()));
    return {{"beside", versions}};
}

}  // namespace heddle::explain
