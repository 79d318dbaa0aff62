// The answers to `heddle learn`'s exercises, and what its check says of them. The wrong ones are those of
// tests/program/wrong_answers.txt.
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

/// The text with a change "OLD => NEW" or "[2] OLD => NEW". A line that is left blank is removed. Error that names `answer`
/// unless there is such a place, and without a number only one.
inline std::string changed(std::string text, const std::string& change, const std::string& answer) {
    static const std::regex form(R"((?:\[(\d)\] )?(.+?) =>(?: (.+))?)");
    std::smatch found;
    check(std::regex_match(change, found, form), "{}: not OLD => NEW: {}", answer, change);
    const std::string before = found[2], after = found[3];
    std::size_t at = text.find(before);
    for (int number = found[1].matched ? std::stoi(found[1]) : 1; number > 1 && at != std::string::npos; --number)
        at = text.find(before, at + 1);
    check(at != std::string::npos && (found[1].matched || text.find(before, at + 1) == std::string::npos),
          "{}: this stands there {}: {}", answer, at == std::string::npos ? "nowhere" : "more than once", before);
    text.replace(at, before.size(), after);
    const std::size_t begin = at == 0 ? 0 : text.rfind('\n', at - 1) + 1, end = text.find('\n', at);
    if (after.empty() && text.find_first_not_of(' ', begin) == end) text.erase(begin, end + 1 - begin);
    return text;
}

struct WrongAnswer {
    std::string name, verdict, text;
};

/// The wrong answers that the table makes of the exercise's solution, in their order.
inline std::vector<WrongAnswer> wrong_answers_in(const std::string& table, const std::string& exercise,
                                                 const std::string& solution) {
    std::vector<WrongAnswer> answers;
    std::istringstream lines(table);
    std::string line, before;
    while (std::getline(lines, line) && line != "== " + exercise) continue;
    while (std::getline(lines, line) && !line.starts_with("== ")) {
        if (!line.starts_with("  ")) {
            const std::size_t colon = line.find(": ");
            answers.push_back({line.substr(0, colon), line.substr(colon + 2), solution});
        } else if (line.find(" =>") == std::string::npos) {
            before = line.substr(2);  // the change goes on in the next line
        } else {
            answers.back().text = changed(answers.back().text, before + line.substr(before.empty() ? 2 : 1), answers.back().name);
            before.clear();
        }
    }
    return answers;
}

inline const learn::ExercisePage& exercise_page(const std::string& name) {
    static const std::vector<learn::ExercisePage> pages = learn::exercise_pages();
    return learn::page_named(pages, name);
}

inline std::vector<WrongAnswer> wrong_answers(const std::string& exercise) {
    return wrong_answers_in(project_file("tests/program/wrong_answers.txt"), exercise, exercise_page(exercise).solution);
}

/// The text of "map/solution", "map/starter" or "map/wrong/strides".
inline std::string answer_of(const std::string& name) {
    const std::size_t slash = name.find('/');
    const std::string exercise = name.substr(0, slash), kind = name.substr(slash + 1);
    if (kind == "solution") return exercise_page(exercise).solution;
    if (kind == "starter") return exercise_page(exercise).starter;
    for (const WrongAnswer& answer : wrong_answers(exercise))
        if (kind == "wrong/" + answer.name) return answer.text;
    fail("there is no answer " + name);
}

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
