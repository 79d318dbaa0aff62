#include "apps/learn/explain.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

namespace heddle::learn {

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
