#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <mutex>

#include "apps/command/commands.h"
#include "apps/command/gradcheck_report.h"
#include "apps/command/option_rows.h"
#include "apps/options/suggestion.h"
#include "apps/terminal/terminal.h"
#include "autograd/cases/op_cases.h"
#include "core/error.h"
#include "core/parallel.h"
#include "nn/proofs.h"

namespace heddle::app {
namespace {

struct GradcheckCommandOptions {
    std::string op;
    bool list = false;
    bool json = false;
    std::string report;
    MachineOptions machine;
};

std::vector<std::string> op_names(const std::vector<GradientCase>& cases) {
    std::vector<std::string> names;
    for (const GradientCase& one : cases)
        if (std::find(names.begin(), names.end(), one.op) == names.end()) names.push_back(one.op);
    return names;
}

// The cases of the ops, then those of the modules.
std::vector<GradientCase> wanted_cases(const std::string& op) {
    std::vector<GradientCase> cases = gradient_cases();
    for (GradientCase& one : nn::module_cases()) cases.push_back(std::move(one));
    if (op.empty()) return cases;
    std::vector<GradientCase> wanted;
    for (const GradientCase& one : cases)
        if (one.op == op) wanted.push_back(one);
    const std::vector<std::string> names = op_names(cases);
    check_usage(!wanted.empty(), fmt::format("--op {}: there is no such op; choose one of {}{}", op, fmt::join(names, ", "),
                                             did_you_mean(op, names)));
    return wanted;
}

CaseReport prove(const GradientCase& one, Device device, bool with_steps) {
    CaseReport report;
    try {
        GradcheckOptions options = one.options;
        options.device = device;
        report.differences = gradcheck(one.function, one.inputs, options);
        report.exact = exact_check(one.function, one.inputs, options);
        // A function that throws has failed both checks and has no steps to show.
        const bool has_value = report.differences.compared > 0;
        if (with_steps && has_value) report.steps = step_errors({one.op, one.what, one.function, one.inputs, options});
    } catch (const OutOfMemory&) {
        throw;  // says nothing about the gradient
    } catch (const Error& error) {
        report.error = error.what();
    }
    return report;
}

// Cases end in any order. Lines are printed in the order of the list, each as soon as all before it are known; JSON is printed
// at the end.
class Table {
  public:
    Table(const std::vector<GradientCase>& cases, bool as_json)
        : cases_(cases), reports_(cases.size()), known_(cases.size(), false), as_json_(as_json) {
        if (as_json) return;
        for (const GradientCase& one : cases) {
            op_width_ = std::max(op_width_, one.op.size());
            case_width_ = std::max(case_width_, one.what.size());
        }
        app::print(fmt::format("{:<{}}  {:<{}}  {:>11}  {:>11}  {:>7}  {:>7}  {:>7}  {}\n", "op", op_width_, "case", case_width_,
                               "derivatives", "worst error", "forward", "adjoint", "Hessian", "verdict"));
    }

    void add(std::size_t i, CaseReport report) {
        const std::lock_guard lock(mutex_);
        reports_[i] = std::move(report);
        known_[i] = true;
        for (; printed_ < cases_.size() && known_[printed_]; ++printed_) print(printed_);
    }
    std::size_t failed() const { return failed_; }
    std::span<const CaseReport> reports() const { return reports_; }

    // Prints the last line, or all of the JSON.
    void finish() const {
        if (as_json_)
            app::print(gradcheck_json(cases_, reports_));
        else if (failed_ == 0)
            app::print(fmt::format("all {} cases are proven\n", cases_.size()));
        else
            app::print(fmt::format("{} of {} cases FAILED\n", failed_, cases_.size()));
    }

  private:
    void print(std::size_t i) {
        const CaseReport& report = reports_[i];
        if (!report.passed()) ++failed_;
        if (as_json_) return;
        const ExactReport& exact = report.exact;
        app::print(fmt::format("{:<{}}  {:<{}}  {:>11}  {:>11}  {:>7}  {:>7}  {:>7}  {}\n", cases_[i].op, op_width_,
                               cases_[i].what, case_width_, report.differences.compared, figure_text(report.differences.worst, 1),
                               figure_text(exact.forward, 0), figure_text(exact.adjoint, 0), figure_text(exact.hessian, 0),
                               report.passed() ? "proven" : "FAILED"));
        if (!report.passed()) app::print(report.message() + "\n");
    }

    const std::vector<GradientCase>& cases_;
    std::vector<CaseReport> reports_;
    std::vector<bool> known_;
    bool as_json_;
    std::size_t printed_ = 0;
    std::size_t failed_ = 0;
    std::size_t op_width_ = 2;
    std::size_t case_width_ = 4;
    std::mutex mutex_;
};

}  // namespace

int gradcheck_command(Arguments arguments) {
    GradcheckCommandOptions options;
    OptionTable table("gradcheck",
                      "proves every op's and module's gradient: backward against central differences and exact derivatives, in "
                      "double precision");
    table.usage = "usage: heddle gradcheck [NAME] [--list] [--json] [--report FILE]\n";
    table.group(OptionGroup::cases);
    table.add("op", options.op, "prove this op only").called("NAME").defaults_to("all").positional();
    table.add("list", options.list, "print the cases, prove none");
    table.add("json", options.json, "print one JSON object instead of the table");
    table.add("report", options.report, "also write a page: the table, and for each case a chart of the errors over the step")
        .called("FILE")
        .defaults_to("none");
    add_machine_options(table, options.machine);
    if (!parse_command_line(table, arguments)) return 0;
    apply(options.machine);

    const std::vector<GradientCase> cases = wanted_cases(options.op);
    if (!options.report.empty()) picture::check_replaceable(options.report);  // before the checks, which take long
    if (options.list) {
        for (const GradientCase& one : cases) app::print(fmt::format("{}\t{}\n", one.op, one.what));
        return 0;
    }
    Table table_of_cases(cases, options.json);
    const Device device = options.machine.device;
    // On the device one case at a time: cases share its stream, and the emulated device uses all processors itself.
    const std::int64_t at_once = device == Device::cuda ? static_cast<std::int64_t>(cases.size()) : 1;
    parallel_for(static_cast<std::int64_t>(cases.size()), at_once, [&](std::int64_t begin, std::int64_t end) {
        for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
            table_of_cases.add(i, prove(cases[i], device, !options.report.empty()));
    });
    table_of_cases.finish();
    if (!options.report.empty()) gradcheck_page(cases, table_of_cases.reports(), device).write(options.report);
    if (table_of_cases.failed() == 0) return 0;
    say(fmt::format("heddle: {} of {} gradients are not proven; the report names them", table_of_cases.failed(), cases.size()));
    return 1;
}

}  // namespace heddle::app
