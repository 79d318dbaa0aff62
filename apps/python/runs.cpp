#include "apps/python/runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "apps/python/module.h"
#include "apps/translation/decoding/scoring.h"
#include "core/error.h"
#include "core/text.h"

namespace heddle::python {

OpenedRuns open_runs(const std::string& owner, const RunPaths& paths, const std::string& weights, bool language_model) {
    OpenedRuns opened;
    const auto all = paths.index() == 0 ? std::vector{std::get<0>(paths)} : std::get<1>(paths);
    for (const std::filesystem::path& path : all) opened.names.push_back(path.string());
    check_usage(!all.empty(), fmt::format("{}: no run was named; give the folder of one, or a list of several", owner));
    app::WeightsChoice choice;
    const auto kind = value_of<decltype(choice.kind)>(weights);
    check_usage(kind.has_value(), fmt::format("{}: weights='{}'; wanted average or best", owner, weights));
    choice.kind = *kind;
    const nb::gil_scoped_release free;
    for (const std::string& name : opened.names)
        check_usage(app::read_settings(name).model.decoder_only == language_model,
                    language_model
                        ? fmt::format("{}: {} translates; use heddle.Translator", owner, name)
                        : fmt::format("{}: {} is a language model, which translates nothing; use heddle.LanguageModel, "
                                      "which draws texts and gives the probability of texts",
                                      owner, name));
    opened.run = app::open_ensemble(opened.names, choice, {});
    return opened;
}

void check_lines(const Lines& lines, const std::string& what) {
    for (std::size_t i = 0; i < lines.size(); ++i)
        check_usage(
            lines[i].find('\n') == std::string::npos,
            fmt::format("{}: item {} has a line end; give each line as an item of its own, with text.splitlines() for example",
                        what, i));
}

std::vector<double> score(const app::EnsembleRun& run, const Lines& sources, const Lines& targets, bool normalize) {
    Notes notes;
    app::UnknownText unknown_source("score: the sources", *run.vocabularies().source, std::ref(notes));
    app::UnknownText unknown_target("score: the targets", *run.vocabularies().target, std::ref(notes));
    std::vector<double> scores;
    std::int64_t cut = 0;
    for (std::size_t begin = 0; begin < targets.size(); begin += lines_at_once) {
        {
            const nb::gil_scoped_release free;
            const std::size_t count = std::min(lines_at_once, targets.size() - begin);
            const app::LineScores some = app::score_lines(
                run.models(), run.vocabularies(), std::span(sources).subspan(begin, count),
                std::span(targets).subspan(begin, count), {.source = &unknown_source, .target = &unknown_target});
            for (const nn::PairScore& each : some.scores) {
                scores.push_back(each.log_probability / static_cast<double>(normalize ? each.tokens : 1));
                cut += each.complete ? 0 : 1;
            }
        }
        check_signals();
    }
    unknown_source.report();
    unknown_target.report();
    if (cut > 0)
        notes(fmt::format("of {} texts the first {} tokens were scored: the model's position table ends there", grouped_text(cut),
                          run.models().position_table()));
    notes.warn();
    return scores;
}

}  // namespace heddle::python
