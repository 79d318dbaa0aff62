#include "apps/learn/exercise_page.h"

#include <algorithm>
#include <array>
#include <regex>
#include <sstream>
#include <string_view>
#include <tuple>

#include "apps/command/sibling_program.h"
#include "apps/options/suggestion.h"
#include "core/file.h"
#include "core/format.h"

namespace heddle::learn {
namespace {

constexpr std::array<std::string_view, 5> tracks = {"first kernels", "shared memory", "detective", "tape", "Transformer kernels"};

std::vector<std::string> hints_of(const std::string& list) {
    static const std::regex start(R"((^|\n)\d+\. )");
    std::vector<std::string> hints;
    auto at = std::sregex_iterator(list.begin(), list.end(), start);
    for (const std::sregex_iterator end; at != end;) {
        const auto begin = static_cast<std::size_t>(at->position() + at->length());
        ++at;
        std::string hint = list.substr(begin, at == end ? std::string::npos : static_cast<std::size_t>(at->position()) - begin);
        while (hint.ends_with('\n')) hint.pop_back();
        hints.push_back(std::regex_replace(hint, std::regex("\n +"), "\n"));
    }
    return hints;
}

ExercisePage page_of(const std::filesystem::path& file) {
    const std::string text = read_file(file);
    std::smatch head;
    static const std::regex first_line(R"(^<!-- learn: ([A-Za-z ]+) (\d+), starter [a-z]+ -->\n# ([^\n]+)\n)");
    constexpr std::string_view before_hints = "\n## Hints\n", before_solution = "\n## Solution\n\n```";
    const std::size_t begin = text.find('\n') + 1, hints = text.find(before_hints), solution = text.find(before_solution);
    check(std::regex_search(text, head, first_line) && hints < solution && solution != std::string::npos &&
              text.ends_with("\n```\n"),
          "{}: wanted <!-- learn: TRACK N, starter KIND -->, a title, ## Hints, and ## Solution with a block of code",
          file.string());
    const std::size_t list = hints + before_hints.size(), language = solution + before_solution.size();
    const std::size_t code = text.find('\n', language) + 1;
    const std::string answer = text.substr(code, text.size() - 4 - code);  // without ```
    return {.name = file.stem().string(),
            .title = head[3],
            .track = head[1],
            .place = std::stoi(head[2]),
            .text = text.substr(begin, hints - begin),
            .hints = hints_of(text.substr(list, solution - list)),
            .starter = cut(answer, true),
            .solution = cut(answer, false),
            .on_device = text.substr(language, code - 1 - language) == "cuda"};
}

std::size_t number_of(const std::string& track) {
    return static_cast<std::size_t>(std::ranges::find(tracks, track) - tracks.begin());
}

}  // namespace

Files files() {
    const std::filesystem::path folder = app::this_program().parent_path();
    const std::filesystem::path shared = folder.parent_path() / "share" / "heddle" / "learn", source = HEDDLE_SOURCE_DIR;
    Files found = {shared / "exercises", shared / "include", folder / "heddle-grader"};
    if (!std::filesystem::exists(found.exercises)) {
        found.exercises = source / "apps" / "learn" / "exercises";
        found.includes = HEDDLE_LEARN_INCLUDES;
    }
    check(std::filesystem::exists(found.exercises),
          "learn: the exercises are missing: neither {} nor {} is there; install Heddle again", (shared / "exercises").string(),
          found.exercises.string());
    return found;
}

std::string cut(const std::string& text, bool starter) {
    std::istringstream lines(text);
    std::string kept;
    bool keeps = true;
    for (std::string line; std::getline(lines, line);) {
        if (line == "#ifdef STARTER")
            keeps = starter;
        else if (line == "#ifndef STARTER")
            keeps = !starter;
        else if (line == "#else")
            keeps = !keeps;
        else if (line == "#endif")
            keeps = true;
        else if (line.starts_with("//: "))
            kept += starter ? "// " + line.substr(4) + "\n" : "";
        else if (keeps)
            kept += line + "\n";
    }
    return kept;
}

std::vector<ExercisePage> exercise_pages() {
    std::vector<ExercisePage> pages;
    for (const auto& entry : std::filesystem::directory_iterator(files().exercises))
        if (entry.path().extension() == ".md") pages.push_back(page_of(entry.path()));
    std::ranges::sort(pages, {},
                      [](const ExercisePage& page) { return std::tuple(number_of(page.track), page.place, page.name); });
    return pages;
}

const ExercisePage& page_named(const std::vector<ExercisePage>& pages, const std::string& name) {
    const auto found = std::ranges::find(pages, name, &ExercisePage::name);
    std::vector<std::string> names;
    for (const ExercisePage& page : pages) names.push_back(page.name);
    check_usage(found != pages.end(),
                fmt::format("learn: there is no exercise '{}'{}", name, app::did_you_mean(name, names, "see heddle learn list")));
    return *found;
}

}  // namespace heddle::learn
