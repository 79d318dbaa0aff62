#include "apps/explain/explanation_program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>

#include "core/file.h"
#include "kernels/emulator/frontend/report.h"
#include "kernels/emulator/trace/costs.h"

namespace heddle::explain {
namespace {

namespace fs = std::filesystem;
namespace frontend = emulator::frontend;
using emulator::TracedLaunch;
using emulator::TracedMemory;
using emulator::TraceEvent;
using Sources = std::map<std::string, std::string>;

// The files that the launches and the allocations name, as they name them.
Sources sources_of(const emulator::ProgramTrace& trace) {
    std::set<std::string> files;
    for (const TracedLaunch& launch : trace.launches)
        for (const emulator::TraceSite& site : launch.sites) files.insert(file_and_line(site.place).first);
    for (const TracedMemory& memory : trace.memory) files.insert(file_and_line(memory.name).first);
    Sources sources;
    for (const std::string& file : files)
        if (!file.empty() && fs::is_regular_file(file)) sources[file] = read_file(file);
    return sources;
}

std::string line_of(const std::string& text, int number) {
    std::istringstream lines(text);
    std::string line;
    for (int i = 0; i < number; ++i)
        if (!std::getline(lines, line)) return "";
    return line;
}

// The pointers that a line allocates, in their order: "d_x" of `cudaMalloc((void**)&d_x, bytes);`.
std::vector<std::string> pointers_of(const std::string& line) {
    static const std::regex call(
        R"(\bcuda(?:Malloc|HostAlloc)\w*\s*\(\s*(?:\([^()]*\)\s*|reinterpret_cast\s*<[^<>]*>\s*\(\s*)?&\s*([\w.>\[\]-]+))");
    std::vector<std::string> pointers;
    for (std::sregex_iterator at(line.begin(), line.end(), call), end; at != end; ++at) pointers.push_back((*at)[1]);
    return pointers;
}

// The type of a pointer's elements or of a variable, as the sources declare it; empty if they do not.
std::string declared_type(const Sources& sources, const std::string& name) {
    static const std::regex identifier(R"(\w+(?=(?:\[[^\]]*\])*$))");
    std::smatch last;
    if (!std::regex_search(name, last, identifier)) return "";
    const std::string word = last.str();
    const std::regex pointer(R"(\b([A-Za-z_]\w*)\s*(?:const\s*)?\*[^;{}()=]*?\b)" + word + R"(\b\s*[,;=)\[])"),
        variable(R"(\b([A-Za-z_]\w*)\s+)" + word + R"(\b\s*[\[;={])");
    for (const std::regex& declaration : {pointer, variable})
        for (const auto& [file, text] : sources)
            if (std::smatch found; std::regex_search(text, found, declaration)) return found[1];
    return "";
}

std::optional<DType> known_type(const std::string& type) {
    static const std::map<std::string, DType> known = {{"float", DType::f32},
                                                       {"float1", DType::f32},
                                                       {"float2", DType::f32},
                                                       {"float3", DType::f32},
                                                       {"float4", DType::f32},
                                                       {"f32", DType::f32},
                                                       {"double", DType::f64},
                                                       {"double2", DType::f64},
                                                       {"f64", DType::f64},
                                                       {"__nv_bfloat16", DType::bf16},
                                                       {"nv_bfloat16", DType::bf16},
                                                       {"__nv_bfloat162", DType::bf16},
                                                       {"bf16", DType::bf16},
                                                       {"int", DType::i32},
                                                       {"unsigned", DType::i32},
                                                       {"int32_t", DType::i32},
                                                       {"uint32_t", DType::i32},
                                                       {"uint", DType::i32},
                                                       {"int2", DType::i32},
                                                       {"int4", DType::i32},
                                                       {"uint4", DType::i32},
                                                       {"i32", DType::i32},
                                                       {"u32", DType::i32},
                                                       {"char", DType::u8},
                                                       {"uint8_t", DType::u8},
                                                       {"int8_t", DType::u8},
                                                       {"bool", DType::u8},
                                                       {"uchar4", DType::u8},
                                                       {"i8", DType::u8},
                                                       {"u8", DType::u8}};
    const auto found = known.find(type);
    return found == known.end() ? std::nullopt : std::optional(found->second);
}

// What the values look like: whole numbers, of which floats would be too small to be meant, or floats.
DType guessed_type(const std::vector<TracedLaunch>& launches, const TracedMemory& memory) {
    bool any_float = false, any_whole = false;
    std::size_t least = 16;
    for (const TracedLaunch& launch : launches)
        for (const TraceEvent& event : launch.events) {
            if (event.shared || !emulator::is_access(event.action) || event.address - memory.start >= memory.bytes) continue;
            least = std::min<std::size_t>(least, event.bytes);
            std::uint32_t bits = 0;
            std::memcpy(&bits, event.value.data(), sizeof bits);
            const float value = std::bit_cast<float>(bits);
            any_float |= std::isfinite(value) && std::abs(value) >= 1e-30f;
            any_whole |= bits != 0 && std::abs(value) < 1e-30f;
        }
    if (least < 4) return DType::u8;
    return any_whole && !any_float ? DType::i32 : DType::f32;
}

// "--arg x" names an array of the harness, whose type the argument says: "x=f32[64]".
std::string type_of_argument(const frontend::Settings& settings, const std::string& name) {
    for (const std::string& argument : settings.arguments)
        if (argument.starts_with(name + "=")) return argument.substr(name.size() + 1, argument.find('[') - name.size() - 1);
    return "";
}

std::vector<TracedTensor> tensors_of(const emulator::ProgramTrace& trace, const frontend::Settings& settings,
                                     const Sources& sources) {
    constexpr std::string_view kArgument = "--arg ";
    std::vector<TracedTensor> tensors;
    std::map<std::string, std::size_t> at_place, named;
    for (const TracedMemory& memory : trace.memory) {
        std::string name = memory.name, type;
        if (memory.name.starts_with(kArgument)) {
            name.erase(0, kArgument.size());
            type = type_of_argument(settings, name);
        } else {
            const auto [file, line] = file_and_line(memory.name);
            if (const auto source = sources.find(file); !memory.is_variable && source != sources.end()) {
                const std::vector<std::string> pointers = pointers_of(line_of(source->second, line));
                if (const std::size_t number = at_place[memory.name]++; !pointers.empty())
                    name = pointers[std::min(number, pointers.size() - 1)];
            }
            type = declared_type(sources, name);
        }
        if (const std::size_t before = named[name]++; before > 0) name += fmt::format(" ({})", before + 1);
        const DType dtype = known_type(type).value_or(guessed_type(trace.launches, memory));
        const auto elements = static_cast<std::int64_t>(memory.bytes) / size_of(dtype);
        tensors.push_back({name, {std::max<std::int64_t>(elements, 1)}, dtype, memory.start});
    }
    return tensors;
}

// The file of a record as the sites name it.
std::string file_of(const std::string& file, const Sources& sources) {
    for (const auto& [known, text] : sources)
        if (known == file || file.ends_with("/" + known) || known.ends_with("/" + file)) return known;
    return frontend::shown_path(file);
}

bool is_at(const TracedLaunch& launch, const frontend::Finding& found, const Sources& sources) {
    if (launch.mistake == emulator::kNoEvent) return false;
    const auto [file, line] = file_and_line(launch.sites[launch.events[launch.mistake].site].place);
    return line == found.record.line && file == file_of(found.record.file, sources);
}

void add_finding(Explanation& explanation, const std::vector<frontend::Finding>& findings) {
    std::vector<TracedLaunch>& launches = explanation.traced;
    const frontend::Finding* shown = nullptr;
    TracedLaunch* about = nullptr;
    for (const frontend::Finding& found : findings) {
        if (found.record.note || about != nullptr) continue;
        if (shown == nullptr) shown = &found;
        for (TracedLaunch& launch : launches)
            if (about == nullptr && is_at(launch, found, explanation.sources)) {
                about = &launch;
                shown = &found;
            }
    }
    for (TracedLaunch& launch : launches)
        if (&launch != about) launch.mistake = launch.earlier = emulator::kNoEvent;
    if (shown == nullptr) return;
    const emulator::ViolationRecord& record = shown->record;
    explanation.finding = {.kind = record.kind,
                           .text = record.text,
                           .file = file_of(record.file, explanation.sources),
                           .line = record.line,
                           .other_line = record.other_file == record.file ? record.other_line : 0};
}

}  // namespace

Explanation explanation_of(emulator::ProgramTrace trace, const frontend::Settings& settings,
                           const std::vector<frontend::Finding>& findings, std::string command) {
    std::vector<std::string> kernels;
    for (const TracedLaunch& launch : trace.launches)
        if (std::find(kernels.begin(), kernels.end(), launch.kernel) == kernels.end()) kernels.push_back(launch.kernel);
    std::string title = fmt::format("{}", fmt::join(kernels, ", "));
    if (trace.launched > trace.launches.size())
        title += fmt::format(" ({} of {} launches)", trace.launches.size(), trace.launched);
    const std::string file = frontend::shown_path(settings.sources[0]);
    Explanation explanation{.name = fs::path(file).filename().string(),
                            .title = title,
                            .axes = "",
                            .shape = {},
                            .command = std::move(command),
                            .sources = sources_of(trace)};
    explanation.tensors = tensors_of(trace, settings, explanation.sources);
    explanation.traced = std::move(trace.launches);
    add_finding(explanation, findings);
    explanation.launches = reports_of(explanation.traced);
    return explanation;
}

}  // namespace heddle::explain
