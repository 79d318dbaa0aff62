// Traced kernels as JSON, as text and as a page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "apps/picture/page.h"
#include "core/dtype.h"
#include "kernels/emulator/trace/requests.h"

namespace heddle::explain {

/// One source line of a kernel and the totals of all warps' requests there.
struct LineTotals {
    std::string file;  ///< "kernels/softmax/softmax.cu"
    int line = 0;
    emulator::RequestTotals totals;
};

struct LaunchReport {
    const emulator::TracedLaunch* launch = nullptr;
    std::vector<emulator::Request> requests;
    emulator::RequestTotals totals;
    std::vector<LineTotals> lines;  ///< by file and line
    /// Bytes of global memory read plus bytes written, each counted once: the least traffic a kernel with these inputs and this
    /// result can have.
    std::uint64_t least_bytes = 0;
};

/// A device tensor; `start` and its size map the addresses of a trace to it.
struct TracedTensor {
    std::string name;
    std::vector<std::int64_t> shape;
    DType dtype = DType::f32;
    std::uint64_t start = 0;  ///< address

    std::uint64_t bytes() const;
};

/// A mistake found by a check of the run, shown at the head of its page.
struct Finding {
    std::string kind;  ///< "race"
    std::string text;
    std::string file;              ///< source file of both lines; a line of 0: unknown
    int line = 0, other_line = 0;  ///< other_line: the earlier access of a race
};

struct Explanation {
    std::string name;   ///< "softmax"
    std::string title;  ///< one line
    std::string axes;   ///< "rows, cols": what the extents of `shape` mean
    std::vector<std::int64_t> shape;
    std::string command;                     ///< the command that makes this explanation
    bool bf16 = false;                       ///< Example::bf16
    std::optional<double> operations = {};   ///< operations of the op's formula, if stated
    std::vector<TracedTensor> tensors = {};  ///< all other global memory is a workspace
    std::vector<emulator::TracedLaunch> traced = {};
    std::vector<LaunchReport> launches = {};          ///< reports_of(traced)
    std::map<std::string, std::string> sources = {};  ///< texts of files that lie outside of the source tree
    std::optional<Finding> finding = {};
};

/// A report of each launch. The launches must outlive them.
std::vector<LaunchReport> reports_of(const std::vector<emulator::TracedLaunch>& launches);

/// Limit for the steps of a page. Whole warps are kept: first those involved in a mistake, then in order. If not even the first
/// warp fits, its first steps are kept.
inline constexpr std::size_t kStepBytes = 1'400'000;
/// JSON of one explanation, or of two side by side, which share the bytes. Schema: docs/explain.md.
nlohmann::ordered_json json_of(std::span<const Explanation> explanations, std::size_t step_bytes);
/// Text for a terminal; two explanations are compared by their totals.
std::string text_of(std::span<const Explanation> explanations);
/// Writes the page to `out` unless that is empty, and says so. Then prints `text`, or with `json` all steps as JSON.
void show(std::span<const Explanation> explanations, const std::string& out, bool json, const std::string& text);

/// "50 %", "12.5 %", as the page writes it; "-" of nothing.
std::string share(std::uint64_t part, std::uint64_t whole);
/// "read", "copy-write", ...: docs/explain.md.
const char* word_of(emulator::Action action);
/// "kernels/softmax/softmax.cu" and 41 for the place "kernels/softmax/softmax.cu:41"; an empty file name if it is unknown.
std::pair<std::string, int> file_and_line(const std::string& place);

}  // namespace heddle::explain
