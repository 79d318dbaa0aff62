// What a run of an op says about its kernels: as JSON, as text, as a page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "apps/explain/examples.h"
#include "apps/explain/session.h"
#include "apps/picture/page.h"
#include "kernels/emulator/requests.h"

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

struct Explanation {
    const Example* example = nullptr;
    std::vector<std::int64_t> shape;
    std::string command;  ///< that makes it again
    Session session;
    std::vector<LaunchReport> launches;
};

/// Runs the example on the emulated device. `shape` empty: the default. UsageError for a shape that does not fit; Error when the
/// shape is too large to be traced.
Explanation explained(const Example& example, std::vector<std::int64_t> shape);

/// Steps are kept of whole warps, in their order, until they would take more than this.
inline constexpr std::size_t kStepBytes = 1'400'000;
/// Of one explanation, or of two side by side, which share the bytes. Schema: docs/explain.md.
nlohmann::ordered_json json_of(std::span<const Explanation> explanations, std::size_t step_bytes = kStepBytes);
/// For a terminal; of two the totals side by side.
std::string text_of(std::span<const Explanation> explanations);
/// `json`: json_of(explanations).
picture::Page page_of(std::span<const Explanation> explanations, const nlohmann::ordered_json& json);

/// "kernels/softmax/softmax.cu" and 41 of a site's place; no file if the place is unknown.
std::pair<std::string, int> file_and_line(const std::string& place);

}  // namespace heddle::explain
