// What `heddle gradcheck` found out about each case: the reports of its checks, as JSON and as a page.
#pragma once

#include <span>
#include <string>

#include "apps/picture/page.h"
#include "autograd/exact_check.h"
#include "autograd/gradcheck_steps.h"

namespace heddle::app {

/// The results of one case's checks.
struct CaseReport {
    GradcheckReport differences;
    ExactReport exact;
    std::string error;  ///< message of the Error that stopped the checks
    StepErrors steps;   ///< for the page; without steps if it is not wanted

    bool passed() const { return error.empty() && differences.passed && exact.passed; }
    /// The messages of the checks that failed, one after the other; empty when all passed.
    std::string message() const;
};

/// One JSON object in a line: whether all passed, and an object for each case. `reports` are those of `cases`, in their order.
std::string gradcheck_json(std::span<const GradientCase> cases, std::span<const CaseReport> reports);

/// A figure of a report; "failed" where its check found none.
std::string figure_text(double value, int digits);

/// A page without scripts: the table of all checks, and for each case a chart of the errors over the step. `device`: where the
/// functions ran.
picture::Page gradcheck_page(std::span<const GradientCase> cases, std::span<const CaseReport> reports, Device device);

}  // namespace heddle::app
