#include "apps/learn/grader/traced_run.h"

#include <algorithm>

#include "kernels/emulator/trace/trace_file.h"

namespace heddle::learn {

template <class Stream>
void visit(Stream& with, TracedArray& array) {
    with(array.name);
    with(array.extents);
    with(array.dtype);
    with(array.start);
}
template <class Stream>
void visit(Stream& with, TracedRun& run) {
    with(run.axes);
    with(run.sizes);
    with(run.arrays);
    with(run.launches);
}

bool write_traced_run(TracedRun run, const std::string& path) { return emulator::write_trace(run, path); }

std::optional<TracedRun> read_traced_run(const std::string& path) {
    TracedRun run;
    if (!emulator::read_trace(run, path)) return {};
    const auto is_known = [](const TracedArray& array) { return array.dtype <= DType::dual; };
    return std::all_of(run.arrays.begin(), run.arrays.end(), is_known) ? std::optional(std::move(run)) : std::nullopt;
}

}  // namespace heddle::learn
