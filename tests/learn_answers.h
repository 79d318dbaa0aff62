// The answers in the folders of `heddle learn`'s exercises, and what its check says of them.
//
// An exercise's wrong.txt lists its wrong answers, each below a line "NAME: VERDICT" with the kind, the lines and words of the
// text of its verdict: "one-guard: race line 7 and 9: without a barrier". Then follow hunks, with a line "@@" between two of
// them, of lines that begin with ' ', '-' or '+', as in a unified diff without line numbers. The lines with ' ' and '-' must
// follow each other at exactly one place in the solution, where those with '-' are removed and those with '+' inserted. A first
// hunk of '+' alone replaces the whole solution.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "apps/learn/exercise_page.h"
#include "core/format.h"
#include "tests/documents.h"
#include "tests/program.h"
#include "tests/shell.h"

namespace heddle {

/// The text with `hunks` applied in their order. Error that names `answer` and the hunk if one does not occur exactly once, or
/// has a line without a mark.
inline std::string edited(const std::string& text, const std::string& hunks, const std::string& answer) {
    std::string result = "\n" + text, before = "\n", after = "\n";  // hunks begin behind the end of a line
    int hunk = 1;
    const auto apply = [&] {
        const bool is_whole = hunk == 1 && before == "\n" && after != "\n";
        const std::size_t at = is_whole ? 0 : result.find(before);
        check(at != std::string::npos && (is_whole || result.find(before, at + 1) == std::string::npos),
              "{}: hunk {} occurs {}:{}", answer, hunk, at == std::string::npos ? "nowhere" : "more than once", before);
        result.replace(at, is_whole ? result.size() : before.size(), after);
        before = after = "\n";
    };
    std::istringstream lines(hunks);
    for (std::string line; std::getline(lines, line);) {
        if (line == "@@") {
            apply();
            ++hunk;
            continue;
        }
        if (line.empty()) line.push_back(' ');  // editors remove blanks at the end
        check(std::string(" -+").find(line[0]) != std::string::npos, "{}: hunk {}: a line without a mark: {}", answer, hunk,
              line);
        if (line[0] != '+') before += line.substr(1) + "\n";
        if (line[0] != '-') after += line.substr(1) + "\n";
    }
    apply();
    return result.substr(1);
}

struct WrongAnswer {
    std::string name, verdict, text;
};

/// The wrong answers that `listed`, the text of a wrong.txt, makes of the solution, in their order.
inline std::vector<WrongAnswer> wrong_answers_in(const std::string& listed, const std::string& solution) {
    static const std::regex heading("([a-z0-9-]+): (.+)");
    std::vector<WrongAnswer> answers;  // their texts are the hunks at first
    std::istringstream lines(listed);
    for (std::string line; std::getline(lines, line);) {
        std::smatch found;
        if (std::regex_match(line, found, heading)) {
            answers.push_back({found[1], found[2], ""});
            continue;
        }
        check(!answers.empty(), "no NAME: VERDICT before {}", line);
        answers.back().text += line + "\n";
    }
    for (WrongAnswer& answer : answers) {
        while (answer.text.ends_with("\n\n")) answer.text.pop_back();  // the empty line before the next answer
        answer.text = edited(solution, answer.text, answer.name);
    }
    return answers;
}

inline const learn::ExercisePage& exercise_page(const std::string& name) {
    static const std::vector<learn::ExercisePage> pages = learn::exercise_pages();
    return learn::page_named(pages, name);
}

inline std::vector<WrongAnswer> wrong_answers(const std::string& exercise) {
    return wrong_answers_in(project_file("apps/learn/exercises/" + exercise + "/wrong.txt"), exercise_page(exercise).solution());
}

/// The text of "map/solution", "map/starter" or "map/wrong/strides".
inline std::string answer_of(const std::string& name) {
    const std::size_t slash = name.find('/');
    const std::string exercise = name.substr(0, slash), kind = name.substr(slash + 1);
    if (kind == "solution") return exercise_page(exercise).solution();
    if (kind == "starter") return exercise_page(exercise).starter();
    for (const WrongAnswer& answer : wrong_answers(exercise))
        if (kind == "wrong/" + answer.name) return answer.text;
    fail("there is no answer " + name);
}

/// Tests leave no compiled answers in the user's cache.
inline const bool keeps_nothing = ::setenv("HEDDLE_CHECK_CACHE", "", 1) == 0;

/// Options of a check that ends an endless answer after a second.
inline const std::string short_time = " --seconds 1";

/// The verdict of `heddle learn check --json` on this file as an answer to the exercise.
inline nlohmann::json checked(const Workplace& here, const std::string& exercise, const std::filesystem::path& file,
                              const std::string& options = "") {
    const ProgramResult result =
        here.run("learn check " + quoted(file.string()) + " --exercise " + exercise + " --json" + options);
    EXPECT_EQ(result.err, "");
    const nlohmann::json verdict = nlohmann::json::parse(result.out, nullptr, false);
    EXPECT_TRUE(verdict.is_object()) << result.out;
    if (!verdict.is_object()) return {{"kind", "none"}, {"line", 0}, {"other_line", 0}, {"text", ""}, {"printed", ""}};
    EXPECT_EQ(result.status, verdict["passed"] == true ? 0 : 1);
    return verdict;
}

}  // namespace heddle
