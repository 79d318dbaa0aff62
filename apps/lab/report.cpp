#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "apps/lab/experiment.h"
#include "apps/lab/kit.h"
#include "apps/terminal/terminal.h"
#include "apps/translation/run/json.h"

namespace heddle::lab {
namespace {

constexpr std::string_view what_people_write = "What people write", what_is_right = "What is right";

// Counts in full, measurements to four digits: further digits depend on the seed.
std::string number(double value) {
    if (std::isnan(value)) return "nan";  // the sign of NaN is meaningless
    const bool count = value == std::floor(value) && std::abs(value) < 1e12;
    return count ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

// The variants in display order: mistakes first, the correct one last.
std::vector<std::size_t> order_of(const Result& result) {
    std::vector<std::size_t> order(result.variants.size());
    std::iota(order.begin(), order.end(), 0);
    return mistakes_first(order);
}

// Strips the line breaks at both ends.
std::string_view lines_of(std::string_view code) { return code.substr(1, code.size() - 2); }

}  // namespace

std::string text(const Experiment& experiment, const Result& result) {
    std::size_t width = 0;
    for (const Finding& finding : result.findings) width = std::max(width, finding.what.size());
    std::string lines =
        fmt::format("{}: {}\n\n{}:\n{}\n{}:\n{}\n", experiment.name, experiment.title, what_people_write,
                    app::indented(lines_of(experiment.wrong)), what_is_right, app::indented(lines_of(experiment.right)));
    lines += std::string(width, ' ');
    for (const std::size_t i : order_of(result)) lines += fmt::format("  {:>12}", result.variants[i]);
    lines += '\n';
    for (const Finding& finding : result.findings) {
        lines += fmt::format("{:<{}}", finding.what, width);
        for (const std::size_t i : order_of(result))
            lines += fmt::format("  {:>{}}", number(finding.values[i]), std::max<std::size_t>(12, result.variants[i].size()));
        lines += '\n';
    }
    return lines + fmt::format("\n{}\nCaught by {}.\n", app::wrapped(experiment.why), experiment.caught_by);
}

std::string json(const Experiment& experiment, const Result& result, const Options& options) {
    nlohmann::ordered_json object = {{"name", experiment.name},
                                     {"title", experiment.title},
                                     {"wrong", lines_of(experiment.wrong)},
                                     {"right", lines_of(experiment.right)},
                                     {"seed", options.seed},
                                     {"variants", nlohmann::ordered_json::array()},
                                     {"findings", nlohmann::ordered_json::object()},
                                     {"why", experiment.why},
                                     {"caught_by", experiment.caught_by}};
    for (const std::size_t i : order_of(result)) object["variants"].push_back(result.variants[i]);
    for (const Finding& finding : result.findings)
        for (const std::size_t i : order_of(result))
            object["findings"][finding.what][result.variants[i]] = app::json_number(finding.values[i]);
    return app::json_text(object) + "\n";
}

picture::Page page(const Experiment& experiment, const Result& result, std::string_view command) {
    picture::Page page(fmt::format("{}: {}", experiment.name, experiment.title));
    page.mistake({what_people_write, lines_of(experiment.wrong)}, {what_is_right, lines_of(experiment.right)});
    std::vector<std::string> header = {"measured"};
    for (const std::size_t i : order_of(result)) header.push_back(result.variants[i]);
    std::vector<std::vector<std::string>> rows;
    for (const Finding& finding : result.findings) {
        rows.push_back({finding.what});
        for (const std::size_t i : order_of(result)) rows.back().push_back(number(finding.values[i]));
    }
    page.table(header, rows).figures(result.figures).heading("Why").paragraph(experiment.why);
    page.heading("The test that catches it").code(experiment.caught_by);
    page.heading("To reproduce").code(command);
    return page;
}

std::string headline(const Result& result) {
    const Finding& first = result.findings.front();
    std::string values;
    for (const std::size_t i : order_of(result))
        values += fmt::format("{} {} {}", values.empty() ? ":" : ",", result.variants[i], number(first.values[i]));
    return first.what + values;
}

}  // namespace heddle::lab
