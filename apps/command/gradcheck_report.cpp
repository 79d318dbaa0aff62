#include "apps/command/gradcheck_report.h"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "apps/picture/chart.h"
#include "apps/translation/run/json.h"
#include "core/version.h"

namespace heddle::app {

std::string CaseReport::message() const {
    std::string all;
    for (const std::string* each : {&error, &differences.message, &exact.message})
        if (!each->empty()) all += (all.empty() ? "" : "\n") + *each;
    return all;
}

std::string figure_text(double value, int digits) { return std::isnan(value) ? "failed" : fmt::format("{:.{}e}", value, digits); }

std::string gradcheck_json(std::span<const GradientCase> cases, std::span<const CaseReport> reports) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    bool passed = true;
    for (std::size_t i = 0; i < cases.size(); ++i) {
        const CaseReport& report = reports[i];
        passed = passed && report.passed();
        rows.push_back({{"op", cases[i].op},
                        {"case", cases[i].what},
                        {"passed", report.passed()},
                        {"derivatives", report.differences.compared},
                        {"worst_error", json_number(report.differences.worst)},
                        {"forward", json_number(report.exact.forward)},
                        {"adjoint", json_number(report.exact.adjoint)},
                        {"hessian", json_number(report.exact.hessian)},
                        {"message", report.message()}});
    }
    return json_text({{"passed", passed}, {"cases", std::move(rows)}}) + "\n";
}

namespace {

using picture::Figure;
using picture::LineChart;
using picture::Page;

std::string slope_text(double slope) { return std::isnan(slope) ? "linear" : fmt::format("{:.2f}", slope); }

// Errors of 0 are omitted: a logarithmic axis cannot show them.
Figure chart_of(const GradientCase& one, const CaseReport& report) {
    const StepErrors& errors = report.steps;
    LineChart chart{.title = one.what,
                    .x = {.label = "step", .logarithmic = true},
                    .y = {.label = "relative error", .logarithmic = true},
                    .series = {{.name = "central difference", .x = errors.steps, .y = errors.differences},
                               {.name = "Taylor remainder", .x = errors.steps, .y = errors.remainders}},
                    .levels = {{.name = "rounding", .y = errors.rounding}}};
    for (picture::Series& series : chart.series)
        for (double& y : series.y)
            if (y == 0) y = std::nan("");
    const std::string slope = std::isnan(errors.taylor_slope) ? "Linear along this direction: the remainder is rounding."
                                                              : fmt::format("Taylor slope {:.2f}.", errors.taylor_slope);
    return {svg(chart), slope};
}

std::vector<std::string> row_of(const GradientCase& one, const CaseReport& report) {
    return {one.op,
            one.what,
            fmt::format("{}", report.differences.compared),
            figure_text(report.differences.worst, 1),
            figure_text(report.exact.forward, 0),
            figure_text(report.exact.adjoint, 0),
            figure_text(report.exact.hessian, 0),
            report.steps.steps.empty() ? "failed" : slope_text(report.steps.taylor_slope),
            report.passed() ? "proven" : "FAILED"};
}

void add_charts(Page& page, std::span<const GradientCase> cases, std::span<const CaseReport> reports) {
    page.heading("Errors over the step");
    page.paragraph(
        "All inputs move along one random direction. The central difference of the outputs, weighted by a random cotangent (the "
        "gradient that backward starts from), is compared with the slope that backward gives: its error falls with the square of "
        "the step until rounding, which grows as "
        "the step shrinks, takes over. The Taylor remainder is what the function differs from its linear model by: it falls with "
        "the square of the step if backward is right and with the step itself if it is wrong. Below the dashed line there is "
        "nothing but rounding. Errors are relative to the sum of the absolute terms of the slope.");
    for (std::size_t begin = 0, end = 0; begin < cases.size(); begin = end) {
        std::vector<Figure> figures;
        for (end = begin; end < cases.size() && cases[end].op == cases[begin].op; ++end)
            if (!reports[end].steps.steps.empty()) figures.push_back(chart_of(cases[end], reports[end]));
        page.open_section(cases[begin].op, begin == 0).figures(figures).close_section();
    }
}

}  // namespace

Page gradcheck_page(std::span<const GradientCase> cases, std::span<const CaseReport> reports, Device device) {
    Page page("Gradients, proven");
    const auto failed = std::count_if(reports.begin(), reports.end(), [](const CaseReport& each) { return !each.passed(); });
    page.paragraph(fmt::format("heddle {} on {}: {}", version, name(device),
                               failed == 0 ? fmt::format("all {} cases are proven.", cases.size())
                                           : fmt::format("{} of {} cases FAILED.", failed, cases.size())));
    page.heading("How the gradients are checked");
    page.paragraph(
        "Worst error: backward against central differences, extrapolated, each within its own error bound. Forward: the exact "
        "forward derivative by dual numbers against differences. Adjoint: forward derivative and backward are transposes of one "
        "another. Hessian: it is symmetric. The last two hold to rounding. All in double precision. The Taylor slope illustrates "
        "the charts and decides nothing: 2 or more, 1 for a wrong backward, linear where the function has no second derivative "
        "along the direction. The project's tests have two more cross-checks: PyTorch computes random configurations of each op "
        "again, and small wrong versions of the source must make a test fail.");
    std::vector<std::vector<std::string>> rows;
    for (std::size_t i = 0; i < cases.size(); ++i) rows.push_back(row_of(cases[i], reports[i]));
    page.table({"op", "case", "derivatives", "worst error", "forward", "adjoint", "Hessian", "Taylor slope", "verdict"}, rows);
    for (std::size_t i = 0; i < cases.size(); ++i)
        if (!reports[i].passed()) page.heading(fmt::format("{}: {}", cases[i].op, cases[i].what)).code(reports[i].message());
    add_charts(page, cases, reports);
    return page;
}

}  // namespace heddle::app
