// The report of one case: which failures it tells, and its JSON.
#include "apps/command/gradcheck_report.h"

#include <gmock/gmock.h>

#include <cmath>

namespace heddle::app {
namespace {

CaseReport proven() {
    CaseReport report;
    report.differences.passed = report.exact.passed = true;
    report.differences.compared = 7;
    report.differences.worst = report.exact.forward = report.exact.adjoint = report.exact.hessian = 0;
    return report;
}

GradientCase named(const char* op) { return {op, "a case", {}, {}}; }

TEST(GradcheckReport, FailsWhenOneCheckDoes) {
    EXPECT_TRUE(proven().passed());
    CaseReport differences = proven(), exact = proven(), neither = proven();
    differences.differences.passed = false;
    exact.exact.passed = false;
    neither.error = "input 0 is f32";
    for (const CaseReport& report : {differences, exact, neither}) EXPECT_FALSE(report.passed());
}

TEST(GradcheckReport, HasTheMessageOfEachFailedCheck) {
    CaseReport report = proven();
    EXPECT_EQ(report.message(), "");
    report.differences.message = "the gradient is wrong";
    report.exact.message = "the adjoint identity fails";
    EXPECT_EQ(report.message(), "the gradient is wrong\nthe adjoint identity fails");
}

TEST(GradcheckReport, TheJsonHasEachCaseAndNoNaN) {
    CaseReport wrong = proven();
    wrong.exact.passed = false;
    wrong.exact.adjoint = std::nan("");
    wrong.exact.message = "NaN";
    const std::vector<GradientCase> cases = {named("add"), named("mul")};
    EXPECT_EQ(gradcheck_json(cases, std::vector{proven(), wrong}),
              R"({"passed":false,"cases":[)"
              R"({"op":"add","case":"a case","passed":true,"derivatives":7,"worst_error":0.0,"forward":0.0,"adjoint":0.0,)"
              R"("hessian":0.0,"message":""},)"
              R"({"op":"mul","case":"a case","passed":false,"derivatives":7,"worst_error":0.0,"forward":0.0,"adjoint":"nan",)"
              R"("hessian":0.0,"message":"NaN"}]})"
              "\n");
    EXPECT_EQ(gradcheck_json({}, {}), "{\"passed\":true,\"cases\":[]}\n");
}

}  // namespace
}  // namespace heddle::app
