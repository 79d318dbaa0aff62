#include "apps/learn/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "apps/terminal/terminal.h"

namespace heddle::learn {
namespace {

// "     14 |     y[i] = x[i];", or nothing where the file has no such line.
std::string shown_line(const std::string& answer, int number) {
    std::istringstream text(answer);
    std::string line;
    for (int i = 0; i < number; ++i)
        if (!std::getline(text, line)) return "";
    return number == 0 ? "" : fmt::format("{:>7} | {}\n", number, line);
}

std::string cost_text(const Cost& cost) {
    std::string text =
        fmt::format("{} sectors of 32 bytes in {} requests of warps to global memory", cost.sectors, cost.requests);
    if (cost.shared_cycles > 0) text += fmt::format("; shared memory busy for {} cycles", cost.shared_cycles);
    if (cost.barriers > 0) text += fmt::format("; {} waits of warps at barriers", cost.barriers);
    return text;
}

}  // namespace

std::string text_of(const ExercisePage& page, const CheckResult& result, const std::string& next) {
    const Verdict& verdict = result.verdict;
    std::string text = fmt::format("{}: {}\n", page.name, verdict.kind);
    if (verdict.passed()) {
        text += verdict.shape.empty() ? app::indented(app::wrapped(verdict.text))
                                      : fmt::format("  with {}: {}\n", verdict.shape, cost_text(verdict.cost));
        if (!next.empty()) text += fmt::format("  next: heddle learn {}\n", next);
    } else {
        std::string sentence = verdict.shape.empty() ? "" : fmt::format("with {}: ", verdict.shape);
        sentence += verdict.text;
        text += app::indented(app::wrapped(sentence));
        text += shown_line(result.text, verdict.other_line);
        if (verdict.line != verdict.other_line) text += shown_line(result.text, verdict.line);
    }
    if (!result.printed.empty()) text += "it printed:\n" + app::indented(result.printed);
    return app::terminal_text(text);
}

nlohmann::ordered_json json_of(const ExercisePage& page, const CheckResult& result) {
    const Verdict& verdict = result.verdict;
    nlohmann::ordered_json json = {{"exercise", page.name},    {"file", result.source}, {"passed", verdict.passed()},
                                   {"kind", verdict.kind},     {"line", verdict.line},  {"other_line", verdict.other_line},
                                   {"shape", verdict.shape},   {"text", verdict.text},  {"printed", result.printed},
                                   {"seconds", result.seconds}};
    if (verdict.cost.requests > 0)
        json["cost"] = {{"sectors", verdict.cost.sectors},
                        {"requests", verdict.cost.requests},
                        {"shared_cycles", verdict.cost.shared_cycles},
                        {"barriers", verdict.cost.barriers}};
    return json;
}

explain::Explanation explanation_of(const ExercisePage& page, CheckResult& result) {
    TracedRun& run = result.run.value();
    explain::Explanation explanation{.name = page.name,
                                     .title = page.title,
                                     .axes = fmt::format("{}", fmt::join(run.axes, ", ")),
                                     .shape = {run.sizes.begin(), run.sizes.end()},
                                     .command = "heddle learn explain " + page.name,
                                     .traced = std::move(run.launches)};
    for (const TracedArray& array : run.arrays)
        explanation.tensors.push_back({array.name, {array.extents.begin(), array.extents.end()}, array.dtype, array.start});
    explanation.launches = explain::reports_of(explanation.traced);
    explanation.sources[result.name] = result.text;
    const Verdict& verdict = result.verdict;
    if (!verdict.passed())
        explanation.finding = {
            .kind = verdict.kind,
            .text = verdict.shape.empty() ? verdict.text : fmt::format("with {}: {}", verdict.shape, verdict.text),
            .file = result.name,
            .line = verdict.line,
            .other_line = verdict.other_line};
    return explanation;
}

}  // namespace heddle::learn
