// Results of `heddle gradcheck`, as JSON and as a page.
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
    std::string error;  ///< message of the Error that ended the checks
    StepErrors steps;   ///< for the page; empty if there is none

    bool passed() const { return error.empty() && differences.passed && exact.passed; }
    /// The messages of all failed checks; empty if all passed.
    std::string message() const;
};

/// One JSON object on one line: whether all passed, and an object per case. `reports` and `cases` are in the same order.
std::string gradcheck_json(std::span<const GradientCase> cases, std::span<const CaseReport> reports);

/// A value of a report as text; "failed" where its check found none.
std::string figure_text(double value, int digits);

/// A page without scripts: a table of all checks, and per case a chart of the error over the step size. `device`: where the
/// functions ran.
picture::Page gradcheck_page(std::span<const GradientCase> cases, std::span<const CaseReport> reports, Device device);

}  // namespace heddle::app
