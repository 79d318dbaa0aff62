// The report of one case: the failures it lists, and its JSON.
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

TEST(GradcheckReport, AFigureThatNoCheckFoundIsFailed) {
    EXPECT_EQ(figure_text(1.26e-12, 1), "1.3e-12");
    EXPECT_EQ(figure_text(0, 0), "0e+00");
    const CaseReport never;
    for (const double figure : {never.differences.worst, never.exact.forward, never.exact.adjoint, never.exact.hessian})
        EXPECT_EQ(figure_text(figure, 1), "failed");
}

StepErrors quadratic() {
    StepErrors errors;
    for (const double h : {1e-1, 1e-2, 1e-3}) {
        errors.steps.push_back(h);
        errors.differences.push_back(h * h);
        errors.remainders.push_back(0);
    }
    errors.taylor_slope = 2;
    return errors;
}

TEST(GradcheckReport, ThePageHasEachCaseItsChartAndItsSlopeAndNoScript) {
    CaseReport right = proven(), linear = proven(), wrong = proven(), ended;
    right.steps = linear.steps = wrong.steps = quadratic();
    linear.steps.taylor_slope = std::nan("");
    wrong.steps.taylor_slope = 1;
    wrong.differences.passed = false;
    wrong.differences.message = "the gradient of input 0 <b> is wrong";
    ended.error = "input 0 is f32";
    const std::vector<GradientCase> cases = {named("mul"), named("mul"), named("exp"), named("log")};
    const std::string page = gradcheck_page(cases, std::vector{right, linear, wrong, ended}, Device::cpu).html();
    EXPECT_THAT(page, testing::HasSubstr("2 of 4 cases FAILED."));
    EXPECT_THAT(page, testing::HasSubstr("<td class=\"n\">2.00</td>"));
    EXPECT_THAT(page, testing::HasSubstr(">linear</td>"));
    EXPECT_THAT(page, testing::HasSubstr("the gradient of input 0 &lt;b&gt; is wrong"));
    EXPECT_THAT(page, testing::HasSubstr("input 0 is f32"));
    EXPECT_THAT(page, testing::HasSubstr("Taylor slope 1.00."));
    EXPECT_THAT(page, testing::Not(testing::HasSubstr("<script")));
    EXPECT_THAT(page, testing::HasSubstr("script-src &#39;none&#39;"));
    std::size_t charts = 0;
    for (std::size_t at = page.find("<figure"); at != std::string::npos; at = page.find("<figure", at + 1)) ++charts;
    EXPECT_EQ(charts, 3u) << "the case that ended has none";
}

}  // namespace
}  // namespace heddle::app
