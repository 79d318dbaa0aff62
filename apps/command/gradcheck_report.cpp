#include "apps/command/gradcheck_report.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "apps/translation/run/json.h"

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

}  // namespace heddle::app
