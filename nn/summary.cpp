#include "nn/summary.h"

#include <fmt/format.h>

#include "core/format.h"

namespace heddle::nn {
namespace {

void add_rows(const Module& module, std::vector<SummaryRow>& rows) {
    if (!module.own_parameters().empty()) {
        SummaryRow row{module.name(), std::string(module.kind()), "", 0, true};
        for (const Parameter& parameter : module.own_parameters()) {
            const std::string_view part =
                std::string_view(parameter.name).substr(module.name().empty() ? 0 : module.name().size() + 1);
            row.shape += fmt::format("{}{} {}", row.shape.empty() ? "" : ", ", part, parameter.variable.shape());
            row.parameters += parameter.variable.value().numel();
            row.frozen = row.frozen && !parameter.variable.requires_grad();
        }
        rows.push_back(std::move(row));
    }
    for (const Module* child : module.children()) add_rows(*child, rows);
}

}  // namespace

std::vector<SummaryRow> summary(const Module& module) {
    std::vector<SummaryRow> rows;
    add_rows(module, rows);
    return rows;
}

}  // namespace heddle::nn
