// HEDDLE_EMULATOR_TRACE: a program of the front end writes what its kernels did to a file, of which `heddle explain` makes a
// page.
#include <map>
#include <string>

#include "kernels/emulator/run/memory.h"
#include "kernels/emulator/run/run.h"
#include "kernels/emulator/run/trace_hooks.h"
#include "kernels/emulator/run/verdict.h"
#include "kernels/emulator/trace/trace_file.h"

namespace heddle::emulator {
namespace {

std::string& trace_path() {
    static auto* const path = new std::string;
    return *path;
}

// The allocations and variables that the launches used.
std::vector<TracedMemory> used_memory(const std::vector<TracedLaunch>& launches) {
    std::map<std::uint64_t, TracedMemory> found;
    for (const TracedLaunch& launch : launches)
        for (const TraceEvent& event : launch.events) {
            if (event.shared || event.bytes == 0) continue;
            const auto next = found.upper_bound(event.address);
            if (next != found.begin()) {
                const TracedMemory& last = std::prev(next)->second;
                if (event.address - last.start < last.bytes) continue;
            }
            // Of an access out of bounds the nearest: the page says which element it would be.
            const std::optional<Allocation> memory = nearest_allocation(reinterpret_cast<const void*>(event.address));
            if (!memory) continue;
            const auto start = reinterpret_cast<std::uint64_t>(memory->start);
            const bool is_variable = memory->kind == MemoryKind::variable || memory->kind == MemoryKind::constant;
            found[start] = {memory->place, start, memory->bytes, is_variable};
        }
    std::vector<TracedMemory> all;
    for (auto& [start, memory] : found) all.push_back(std::move(memory));
    return all;
}

void write_program_trace() {
    if (!tells()) return;
    ProgramTrace trace;
    trace.launches = end_trace();
    trace.memory = used_memory(trace.launches);
    for (const auto& [kernel, launches] : counted_launches()) trace.launched += launches;
    write_trace(trace, trace_path());  // a file that cannot be written is missing, which its reader says
}

}  // namespace

void trace_program(const char* file, std::size_t launches) {
    if constexpr (!checker::kEnabled) return;
    trace_path() = file;
    begin_trace(kMostTraceEvents, WhenFull::stop_recording, launches);
    at_end(write_program_trace, true);
}

}  // namespace heddle::emulator
