#include "apps/chapters/chapter.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "apps/picture/text.h"
#include "apps/terminal/terminal.h"
#include "apps/translation/run/json.h"
#include "core/format.h"

namespace heddle::chapters {
namespace {

std::string_view verdict(const Statement& statement) { return statement.holds ? "holds" : "does not show"; }

}  // namespace

const std::vector<Chapter>& chapters() {
    static const std::vector<Chapter> all = {
        {"annotated", "the model line by line: stacks, decoding, positions, heads, schedule, smoothed labels", annotated},
        {"explained", "the encoder step by step: order and positions, heads, residuals, norms", explained},
        {"notebook", "an encoder-decoder from zero, block by block: shapes, parameters, masks, maps", notebook},
        {"paper", "\"Attention is all you need\", section by section", paper},
        {"translator", "from raw files to a file of results", translator},
    };
    return all;
}

const Chapter* find_chapter(std::string_view name) {
    const auto found = std::ranges::find(chapters(), name, &Chapter::name);
    return found == chapters().end() ? nullptr : &*found;
}

double Statement::value(std::string_view what) const {
    const auto found = std::ranges::find(numbers, what, &Measured::what);
    check(found != numbers.end(), "chapter: nothing called '{}' was measured for '{}'", what, claim);
    return found->value;
}

std::string text(const Chapter& chapter, const Report& report) {
    std::string lines = fmt::format("{}: {}\n", chapter.name, chapter.title);
    for (const Statement& statement : report.statements) {
        lines += fmt::format("\n{}\n", app::wrapped(statement.claim));
        for (const std::string& printed : statement.printed) lines += app::indented(printed) + "\n";
        std::size_t width = 0;
        for (const Measured& one : statement.numbers) width = std::max(width, one.what.size());
        for (const Measured& one : statement.numbers)
            lines += fmt::format("    {:<{}}  {}\n", one.what, width, picture::number(one.value));
        lines += fmt::format("    {}\n", verdict(statement));
    }
    return lines;
}

std::string json(const Chapter& chapter, const Report& report, const Options& options) {
    nlohmann::ordered_json object = {{"name", chapter.name},
                                     {"title", chapter.title},
                                     {"seed", options.seed},
                                     {"statements", nlohmann::ordered_json::array()}};
    for (const Statement& statement : report.statements) {
        nlohmann::ordered_json numbers = nlohmann::ordered_json::object();
        for (const Measured& one : statement.numbers) numbers[one.what] = app::json_number(one.value);
        object["statements"].push_back({{"claim", statement.claim}, {"numbers", numbers}, {"holds", statement.holds}});
    }
    return app::json_text(object) + "\n";
}

picture::Page page(const Chapter& chapter, const Report& report, std::string_view command) {
    picture::Page page(fmt::format("{}: {}", chapter.name, chapter.title));
    std::vector<std::vector<std::string>> verdicts;
    for (const Statement& statement : report.statements) verdicts.push_back({statement.claim, std::string(verdict(statement))});
    page.table({"statement", "verdict"}, verdicts);
    if (!report.figures.empty()) page.figures(report.figures);
    for (const Statement& statement : report.statements) {
        page.part(statement.claim);
        for (const std::string& printed : statement.printed) page.code(printed);
        std::vector<std::vector<std::string>> rows;
        for (const Measured& one : statement.numbers) rows.push_back({one.what, picture::number(one.value)});
        page.table({"measured", "value"}, rows).paragraph(fmt::format("By these numbers it {}.", verdict(statement)));
        if (!statement.figures.empty()) page.figures(statement.figures);
    }
    page.close_parts().heading("To reproduce").code(command);
    return page;
}

std::string headline(const Report& report) {
    return fmt::format("{} of {} statements hold", std::ranges::count(report.statements, true, &Statement::holds),
                       report.statements.size());
}

std::string first_picture(const Report& report) {
    if (!report.figures.empty()) return report.figures.front().svg;
    const auto shown = std::ranges::find_if(report.statements, [](const Statement& one) { return !one.figures.empty(); });
    return shown == report.statements.end() ? "" : shown->figures.front().svg;
}

}  // namespace heddle::chapters
