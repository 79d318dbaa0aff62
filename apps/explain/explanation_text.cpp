// An explanation without its steps: for a terminal, and the static part of a page.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "apps/explain/arithmetic.h"
#include "apps/explain/explanation.h"
#include "apps/explain/scripts.h"
#include "apps/terminal/terminal.h"
#include "apps/translation/run/json.h"

namespace heddle::explain {
namespace {

using emulator::RequestTotals;

std::string size_of(const dim3& size) {
    if (size.z > 1) return fmt::format("{} x {} x {}", size.x, size.y, size.z);
    return size.y > 1 ? fmt::format("{} x {}", size.x, size.y) : fmt::format("{}", size.x);
}

using Rows = std::vector<std::vector<std::string>>;

// A row of the table: a count of requests, and how to compute it from the totals.
struct Count {
    const char* name;
    std::string (*of)(const RequestTotals& totals, std::uint64_t least_bytes);
};
constexpr Count kCounts[] = {
    {"global memory: requests of warps", [](const auto& t, auto) { return fmt::format("{}", t.global_requests); }},
    {"  bytes moved, in sectors of 32", [](const auto& t, auto) { return fmt::format("{}", 32 * t.sectors); }},
    {"  of these needed by the request", [](const auto& t, auto) { return share(t.needed, 32 * t.sectors); }},
    {"  each byte read once and written once", [](const auto&, auto least) { return fmt::format("{}", least); }},
    {"shared memory: requests of warps", [](const auto& t, auto) { return fmt::format("{}", t.shared_requests); }},
    {"  cycles of the banks", [](const auto& t, auto) { return fmt::format("{}", t.cycles); }},
    {"  cycles without conflicts", [](const auto& t, auto) { return fmt::format("{}", t.parts); }},
    {"requests with lanes missing", [](const auto& t, auto) { return fmt::format("{}", t.divergent); }},
    {"barriers, once for each warp", [](const auto& t, auto) { return fmt::format("{}", t.barriers); }},
    {"warp collectives", [](const auto& t, auto) { return fmt::format("{}", t.collectives); }},
};

Rows total_rows(const LaunchReport& report) {
    Rows rows = {{"grid", size_of(report.launch->grid)},
                 {"threads of a block", size_of(report.launch->block)},
                 {"shared memory of a block, bytes", fmt::format("{}", report.launch->shared_bytes)}};
    for (const Count& count : kCounts) rows.push_back({count.name, count.of(report.totals, report.least_bytes)});
    return rows;
}

// Totals over all launches, one column per explanation.
Rows compared_rows(std::span<const Explanation> explanations) {
    Rows rows = {{"launches"}};
    for (const Count& count : kCounts) rows.push_back({count.name});
    for (const Explanation& one : explanations) {
        RequestTotals totals;
        std::uint64_t least = 0;
        for (const LaunchReport& report : one.launches) {
            totals.add(report.totals);
            least += report.least_bytes;
        }
        rows[0].push_back(fmt::format("{}", one.launches.size()));
        for (std::size_t i = 0; i < std::size(kCounts); ++i) rows[i + 1].push_back(kCounts[i].of(totals, least));
    }
    return rows;
}

std::vector<std::string> compared_header(std::span<const Explanation> explanations) {
    std::vector<std::string> header = {"of all blocks and launches"};
    for (const Explanation& one : explanations) header.push_back(one.name);
    return header;
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

constexpr const char* kRoofline =
    "The operations are those of the formula. With fewer operations a byte than the number shown, a kernel is limited by the "
    "chip's bandwidth, otherwise by its arithmetic; caches put it somewhere between the two cases.";

std::string title_of(std::span<const Explanation> explanations) {
    const Explanation& first = explanations.front();
    if (explanations.size() == 1) return fmt::format("{}: {}", first.name, first.title);
    return fmt::format("{} beside {}", first.name, explanations.back().name);
}

// The command that makes this page.
std::string command_of(std::span<const Explanation> explanations) {
    const Explanation &first = explanations.front(), &last = explanations.back();
    if (explanations.size() == 1) return first.command;
    const std::string names = fmt::format("heddle explain --beside {} {}", first.name, last.name);
    return first.axes == last.axes ? fmt::format("{} --shape {}", names, fmt::join(first.shape, ",")) : names;
}

Rows line_rows(const LaunchReport& report) {
    Rows rows;
    for (const LineTotals& line : report.lines) rows.push_back(line_row(line));
    return rows;
}

picture::Page page_of(std::span<const Explanation> explanations, const nlohmann::ordered_json& json) {
    picture::Page page(title_of(explanations));
    const bool has_finding = std::ranges::any_of(explanations, [](const Explanation& one) { return one.finding.has_value(); });
    page.style(explain_css);
    for (const Explanation& one : explanations)
        if (one.finding) page.heading(fmt::format("Verdict: {}", one.finding->kind)).paragraph(one.finding->text);
    page.paragraph(fmt::format("{} {}", kNoTime,
                               "A request is what the 32 lanes of a warp ask for together at one place of the source; lanes that "
                               "are missing took another branch or had nothing to do."));
    page.code(command_of(explanations))
        .place("explain", "With scripts on, the requests of the first warps are shown here, beside the kernel's source.")
        .data("explain-data", app::json_text(json));
    if (explanations.size() > 1) page.heading("Side by side").table(compared_header(explanations), compared_rows(explanations));
    if (Rows rows = arithmetic_rows(explanations); !rows.empty()) {
        const std::vector<std::string> header = std::move(rows.front());
        rows.erase(rows.begin());
        page.heading("Arithmetic").table(header, rows).paragraph(fmt::format("{} {}", kRoofline, peaks_text()));
    }
    for (const Explanation& one : explanations)
        for (const LaunchReport& report : one.launches)
            page.heading(explanations.size() > 1 ? fmt::format("{}: {}", one.name, report.launch->kernel) : report.launch->kernel)
                .table({"count", "of all blocks"}, total_rows(report))
                .table(line_header, line_rows(report));
    page.script(explain_base_js).script(explain_pictures_js);
    if (has_finding) page.style(explain_finding_css).script(explain_finding_js);
    page.script(explain_viewer_js).script(explain_js);
    return page;
}

}  // namespace

std::string share(std::uint64_t part, std::uint64_t whole) {
    if (whole == 0) return "-";
    const std::uint64_t thousandths = (2000 * part + whole) / (2 * whole);
    return thousandths % 10 == 0 ? fmt::format("{} %", thousandths / 10)
                                 : fmt::format("{}.{} %", thousandths / 10, thousandths % 10);
}

std::string text_of(std::span<const Explanation> explanations) {
    std::string text;
    for (const Explanation& one : explanations) text += fmt::format("{}: {}\n", one.command, one.title);
    text += fmt::format("{}\n", kNoTime);
    if (explanations.size() > 1) {
        Rows rows = {compared_header(explanations)};
        for (std::vector<std::string>& row : compared_rows(explanations)) rows.push_back(std::move(row));
        text += "\n" + as_columns(rows);
    }
    if (const Rows rows = arithmetic_rows(explanations); !rows.empty())
        text += fmt::format("\n{}{} {}\n", as_columns(rows), kRoofline, peaks_text());
    for (const Explanation& one : explanations)
        for (const LaunchReport& report : one.launches) {
            text += fmt::format("\n{}\n{}", report.launch->kernel, as_columns(total_rows(report)));
            Rows rows = {line_header};
            for (std::vector<std::string>& row : line_rows(report)) rows.push_back(std::move(row));
            text += "\n" + as_columns(rows);
        }
    return text;
}

void show(std::span<const Explanation> explanations, const std::string& out, bool json, const std::string& text) {
    if (!out.empty()) {
        page_of(explanations, json_of(explanations, kStepBytes)).write(out);
        app::say(fmt::format("wrote {}", out));
    }
    app::print(json ? app::json_text(json_of(explanations, std::numeric_limits<std::size_t>::max())) + "\n" : text);
}

}  // namespace heddle::explain
