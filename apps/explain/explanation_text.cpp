// An explanation without its steps: for a terminal, and the static part of a page.
#include <fmt/format.h>

#include "apps/explain/explanation.h"
#include "apps/explain/scripts.h"
#include "apps/translation/run/json.h"

namespace heddle::explain {
namespace {

using emulator::RequestTotals;

std::string share(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? "-" : fmt::format("{:.0f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string size_of(const dim3& size) {
    if (size.z > 1) return fmt::format("{} x {} x {}", size.x, size.y, size.z);
    return size.y > 1 ? fmt::format("{} x {}", size.x, size.y) : fmt::format("{}", size.x);
}

using Rows = std::vector<std::vector<std::string>>;

Rows total_rows(const LaunchReport& report) {
    const RequestTotals& t = report.totals;
    Rows rows = {{"grid", size_of(report.launch->grid)}, {"threads of a block", size_of(report.launch->block)}};
    const auto add = [&](const char* name, std::string value) { rows.push_back({name, std::move(value)}); };
    add("shared memory of a block, bytes", fmt::format("{}", report.launch->shared_bytes));
    add("global memory: requests of warps", fmt::format("{}", t.global_requests));
    add("  bytes moved, in sectors of 32", fmt::format("{}", 32 * t.sectors));
    add("  of these needed by the request", share(t.needed, 32 * t.sectors));
    add("  each byte read once and written once", fmt::format("{}", report.least_bytes));
    add("shared memory: requests of warps", fmt::format("{}", t.shared_requests));
    add("  cycles of the banks", fmt::format("{}", t.cycles));
    add("  cycles without conflicts", fmt::format("{}", t.parts));
    add("requests with lanes missing", fmt::format("{}", t.divergent));
    add("barriers, once for each warp", fmt::format("{}", t.barriers));
    add("warp collectives", fmt::format("{}", t.collectives));
    return rows;
}

const std::vector<std::string> line_header = {"line",     "global requests", "sectors",  "needed",     "shared requests",
                                              "conflict", "lanes missing",   "barriers", "collectives"};

std::vector<std::string> line_row(const LineTotals& line) {
    const RequestTotals& t = line.totals;
    const auto number = [](std::uint64_t n) { return n == 0 ? std::string("-") : fmt::format("{}", n); };
    const std::string conflict = t.degree > 1 ? fmt::format("{}-way", t.degree) : "-";
    return {fmt::format("{}:{}", line.file, line.line),
            number(t.global_requests),
            number(t.sectors),
            share(t.needed, 32 * t.sectors),
            number(t.shared_requests),
            conflict,
            number(t.divergent),
            number(t.barriers),
            number(t.collectives)};
}

std::string as_columns(const Rows& rows) {
    std::vector<std::size_t> widths(rows.front().size());
    for (const auto& row : rows)
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    std::string text;
    for (const auto& row : rows) {
        text += fmt::format("  {:<{}}", row[0], widths[0]);
        for (std::size_t i = 1; i < row.size(); ++i) text += fmt::format("  {:>{}}", row[i], widths[i]);
        text += '\n';
    }
    return text;
}

constexpr const char* kNoTime =
    "These are accesses, not times: counted by the rules of a GPU's memory, without caches, on the emulated device.";

}  // namespace

std::string text_of(const Explanation& explanation) {
    std::string text = fmt::format("{}: {}\n{}\n", explanation.command, explanation.example->title, kNoTime);
    for (const LaunchReport& report : explanation.launches) {
        text += fmt::format("\n{}\n{}", report.launch->kernel, as_columns(total_rows(report)));
        Rows rows = {line_header};
        for (const LineTotals& line : report.lines) rows.push_back(line_row(line));
        text += "\n" + as_columns(rows);
    }
    return text;
}

picture::Page page_of(const Explanation& explanation, const nlohmann::ordered_json& json) {
    picture::Page page(fmt::format("{}: {}", explanation.example->name, explanation.example->title));
    page.style(explain_css)
        .paragraph(fmt::format("{} {}", kNoTime,
                               "A request is what the 32 lanes of a warp ask for together at one place of the source; lanes that "
                               "are missing took another branch or had nothing to do."))
        .code(explanation.command)
        .place("explain", "With scripts on, the requests of the first warps are shown here, beside the kernel's source.")
        .data("explain-data", app::json_text(json));
    for (const LaunchReport& report : explanation.launches) {
        page.heading(report.launch->kernel).table({"count", "of all blocks"}, total_rows(report));
        Rows rows;
        for (const LineTotals& line : report.lines) rows.push_back(line_row(line));
        page.table(line_header, rows);
    }
    page.script(explain_js);
    return page;
}

}  // namespace heddle::explain
