// Two files of sentence pairs that are cleaned one by one.
//
//     wrong    drop the lines that begin with "<" from each file, then align what is left
//     right    read both files together: metadata must stand opposite metadata
//
// The files are talks in the form of IWSLT's train.tags.*, with one oddity on one side, at 100 places in turn.
#include <fmt/format.h>

#include <algorithm>

#include "apps/lab/kit.h"
#include "apps/translation/text/text_file.h"
#include "core/error.h"

namespace heddle::lab::lines_apart {
namespace {

constexpr std::size_t talks = 12, sentences_of_talk = 30, sentences = talks * sentences_of_talk;
constexpr int trials = 100;

// Sentence n is the text "n" in both languages.
app::TextFile tagged_talks(std::string name) {
    app::TextFile file{.name = std::move(name), .format = app::TextFormat::tags, .lines = {}, .places = {}};
    for (std::size_t i = 0; i < sentences; ++i) {
        if (i % sentences_of_talk == 0)
            file.lines.insert(file.lines.end(),
                              {"<url>talks</url>", fmt::format("<talkid>{}</talkid>", i), "<title>a talk</title>"});
        file.lines.push_back(fmt::format("{}", i));
    }
    return file;
}

enum class Odd { text_line, heart, metadata_line };

app::TextFile with_oddity(app::TextFile file, Odd odd, std::size_t sentence) {
    const auto at = std::ranges::find(file.lines, fmt::format("{}", sentence));
    switch (odd) {
        case Odd::text_line: file.lines.insert(at, "(applause)"); break;
        case Odd::heart: *at = "<3 " + *at; break;  // a sentence that begins like a tag
        case Odd::metadata_line: file.lines.insert(at, "<reviewer>somebody</reviewer>"); break;
    }
    return file;
}

double wrong_pairs(const app::TextFile& sources, const app::TextFile& targets) {
    double wrong = 0;
    for (std::size_t i = 0; i < std::min(sources.lines.size(), targets.lines.size()); ++i)
        wrong += sources.lines[i] != targets.lines[i] && sources.lines[i] != "<3 " + targets.lines[i];
    return wrong;
}

double wrong_when_apart(app::TextFile sources, app::TextFile targets) {
    for (app::TextFile* file : {&sources, &targets})
        std::erase_if(file->lines, [](const std::string& line) { return line.starts_with('<'); });
    return wrong_pairs(sources, targets);
}

Result measure(const Options& options) {
    const app::TextFile targets = tagged_talks("talks.en");
    Result result{.variants = {"side by side", "one by one"}};
    picture::LineChart chart{.title = "pairs that are wrong",
                             .x = {.label = "sentence before which one file has a line more"},
                             .y = {.label = "% of the pairs", .from = 0},
                             .series = {{.name = "side by side", .dots = true}, {.name = "one by one", .dots = true}}};
    const auto try_all = [&](Odd odd, const std::string& what) {
        Sequence numbers(key(options, what));
        double apart = 0, beside = 0, errors = 0;
        for (int trial = 0; trial < trials; ++trial) {
            const std::size_t place = numbers.below(sentences);
            app::TextFile sources = with_oddity(tagged_talks("talks.de"), odd, place), both = targets;
            const double wrong = 100 * wrong_when_apart(sources, targets) / sentences;
            apart += wrong / trials;
            try {
                app::align(sources, both, {});
                beside += 100 * wrong_pairs(sources, both) / sentences / trials;
            } catch (const Error&) {
                ++errors;
            }
            if (odd != Odd::text_line) continue;
            for (picture::Series& series : chart.series) series.x.push_back(static_cast<double>(place));
            chart.series[0].y.push_back(0);
            chart.series[1].y.push_back(wrong);
        }
        result.findings.push_back({what + ": wrong pairs, mean of 100 places, %", {beside, apart}});
        result.findings.push_back({what + ": files refused, of 100", {errors, 0}});
    };
    try_all(Odd::text_line, "a line of text more");
    try_all(Odd::heart, "a sentence that begins with <3");
    try_all(Odd::metadata_line, "a metadata line more");
    result.figures = {{svg(mistakes_first(chart)), "Read side by side, each of these files gives an error that names the line."}};
    return result;
}

}  // namespace

Experiment experiment() {
    return {
        .name = "lines-apart",
        .group = "Translating and scoring",
        .title = "the two files of a corpus cleaned one by one",
        .caught_by = "Formats.ThatPartAreAnErrorWithBothCountsAndThePlace",
        .why =
            "Files that are cleaned one by one fall out of step at the first line that only one of them keeps, and every pair "
            "behind it is wrong: half of the corpus on average, and nothing fails. A sentence that begins with a heart, <3, "
            "looks like a tag and does the same. Read both files together: each metadata line has to stand opposite one of the "
            "same element, a tag has a letter behind its <, and an error names the lines where the files part.",
        .wrong = R"(
for (app::TextFile* file : {&german, &english})
    std::erase_if(file->lines, [](const std::string& line) {
        return line.starts_with('<');
    });
)",
        .right = R"(
app::align(german, english, {});  // drops both lines or neither
)",
        .run = measure};
}

}  // namespace heddle::lab::lines_apart
