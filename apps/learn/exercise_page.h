// The exercises as a learner sees them: a folder each, with page.md, starter.cu and solution.cu.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace heddle::learn {

/// The first line of a page.md is <!-- learn: TRACK N, starter KIND -->: its place among all exercises, and the verdict that
/// the starter gets. Then follow "# TITLE", the page, and the hints as a numbered list under "## Hints".
struct ExercisePage {
    std::string name;  ///< its folder's
    std::string title;
    std::string track;
    int place = 0;                   ///< in the track, from 1
    std::string starter_kind;        ///< "unwritten"
    std::string text;                ///< without the first line and the hints
    std::vector<std::string> hints;  ///< Markdown, without numbers
    std::filesystem::path folder;
};

/// In the order of the tracks. Error for a page without its first line.
std::vector<ExercisePage> exercise_pages();
/// The page of this name; UsageError with a suggestion if there is none.
const ExercisePage& page_named(const std::vector<ExercisePage>& pages, const std::string& name);

}  // namespace heddle::learn
