// The answers in the folders of `heddle learn`'s exercises, and what its check says of them. A wrong answer is a whole file, or
// an edit of the solution.
//
// An edit, wrong/NAME.diff, begins with the answer's verdict. Then follow hunks, each below a line "@@", of lines that begin with
// ' ', '-' or '+', as in a unified diff without line numbers. The lines with ' ' and '-' must follow each other at exactly one
// place in the solution, where those with '-' are removed and those with '+' inserted.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "core/format.h"
#include "tests/documents.h"
#include "tests/program.h"
#include "tests/shell.h"

namespace heddle {

/// The text with the hunks of `edit` applied in their order. Error that names `file` and the hunk if one does not occur exactly
/// once, or has a line without a mark.
inline std::string edited(const std::string& text, const std::string& edit, const std::string& file) {
    std::string result = "\n" + text, before, after;  // hunks begin behind the end of a line
    int hunk = 0;
    const auto apply = [&] {
        const std::size_t at = result.find(before);
        check(at != std::string::npos && result.find(before, at + 1) == std::string::npos, "{}: hunk {} occurs {}:{}", file, hunk,
              at == std::string::npos ? "nowhere" : "more than once", before);
        result.replace(at, before.size(), after);
    };
    std::istringstream lines(edit);
    for (std::string line; std::getline(lines, line);) {
        if (line == "@@") {
            if (hunk++ > 0) apply();
            before = after = "\n";
            continue;
        }
        if (hunk == 0) continue;                // the verdict
        if (line.empty()) line.push_back(' ');  // editors remove blanks at the end
        check(std::string(" -+").find(line[0]) != std::string::npos, "{}: hunk {}: a line without a mark: {}", file, hunk, line);
        if (line[0] != '+') before += line.substr(1) + "\n";
        if (line[0] != '-') after += line.substr(1) + "\n";
    }
    check(hunk > 0, "{}: no hunk", file);
    apply();
    return result.substr(1);
}

/// An exercise's answers are kernels, ".cu", or ops on the tape, ".cpp".
inline std::string extension_of(const std::string& exercise) {
    return std::filesystem::exists(HEDDLE_SOURCE_DIR "/apps/learn/exercises/" + exercise + "/solution.cu") ? ".cu" : ".cpp";
}

/// The text of "map/solution", "map/starter" or "map/wrong/strides".
inline std::string answer_of(const std::string& name) {
    const std::string folder = "apps/learn/exercises/", exercise = name.substr(0, name.find('/'));
    const std::string edit = folder + name + ".diff";
    if (!std::filesystem::exists(HEDDLE_SOURCE_DIR "/" + edit)) return project_file(folder + name + extension_of(exercise));
    return edited(answer_of(exercise + "/solution"), project_file(edit), edit);
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
