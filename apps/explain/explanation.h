// What traced kernels say: as JSON, as text, as a page.
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

/// One line of a kernel's source, and what all warps asked for there.
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
    /// Bytes of global memory that were read, plus those that were written, each counted once: no kernel with this result and
    /// these inputs moves less, unless it leaves some out.
    std::uint64_t least_bytes = 0;
};

/// A tensor of the device, where the addresses of a trace find it.
struct TracedTensor {
    std::string name;
    std::vector<std::int64_t> shape;
    DType dtype = DType::f32;
    std::uint64_t start = 0;  ///< address

    std::uint64_t bytes() const;
};

/// What a check found in the run, shown at the head of its page.
struct Finding {
    std::string kind;  ///< "race"
    std::string text;
    std::string file;              ///< of the lines; 0: no line
    int line = 0, other_line = 0;  ///< other_line: of a race, the earlier access
};

struct Explanation {
    std::string name;   ///< "softmax"
    std::string title;  ///< one line
    std::string axes;   ///< "rows, cols": what the extents of `shape` mean
    std::vector<std::int64_t> shape;
    std::string command;                     ///< that makes it again
    bool bf16 = false;                       ///< Example::bf16
    std::optional<double> operations = {};   ///< of the op's formula, if it states them
    std::vector<TracedTensor> tensors = {};  ///< all other global memory is a workspace
    std::vector<emulator::TracedLaunch> traced = {};
    std::vector<LaunchReport> launches = {};          ///< reports_of(traced)
    std::map<std::string, std::string> sources = {};  ///< texts of files that lie outside of the source tree
    std::optional<Finding> finding = {};
};

/// A report of each launch. The launches must outlive them.
std::vector<LaunchReport> reports_of(const std::vector<emulator::TracedLaunch>& launches);

/// Steps are kept of whole warps until they would take more than this: first of those that take part in a mistake, then in their
/// order. Only if not even the first warp fits, its first steps.
inline constexpr std::size_t kStepBytes = 1'400'000;
/// Of one explanation, or of two side by side, which share the bytes. Schema: docs/explain.md.
nlohmann::ordered_json json_of(std::span<const Explanation> explanations, std::size_t step_bytes);
/// For a terminal; of two the totals side by side.
std::string text_of(std::span<const Explanation> explanations);
/// `json`: json_of(explanations).
picture::Page page_of(std::span<const Explanation> explanations, const nlohmann::ordered_json& json);

/// "read", "copy-write", ...: docs/explain.md.
const char* word_of(emulator::Action action);
/// "kernels/softmax/softmax.cu" and 41 of a site's place; no file if the place is unknown.
std::pair<std::string, int> file_and_line(const std::string& place);

}  // namespace heddle::explain
