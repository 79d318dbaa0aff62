// The exercises as a learner sees them: a folder each, with page.md, a starter and a solution.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace heddle::learn {

/// The first line of a page.md is <!-- learn: TRACK N, starter KIND -->: its place among all exercises, and the verdict that
/// the starter gets, which a test reads. Then follow "# TITLE", the page, and the hints as a numbered list under "## Hints".
struct ExercisePage {
    std::string name;  ///< its folder's
    std::string title;
    std::string track;
    int place = 0;                   ///< in the track, from 1
    std::string text;                ///< without the first line and the hints
    std::vector<std::string> hints;  ///< Markdown, without numbers
    std::filesystem::path folder;
    bool on_device =
        true;  ///< the answer is a kernel in a .cu file, with every access watched; else host C++ on the tape, in a .cpp file

    /// Of an answer: "map.cu".
    std::string file_name() const { return name + extension(); }
    std::filesystem::path starter() const { return folder / ("starter" + extension()); }
    std::filesystem::path solution() const { return folder / ("solution" + extension()); }
    std::string extension() const { return on_device ? ".cu" : ".cpp"; }
};

/// In the order of the tracks. Error for a page without its first line.
std::vector<ExercisePage> exercise_pages();
/// The page of this name; UsageError with a suggestion if there is none.
const ExercisePage& page_named(const std::vector<ExercisePage>& pages, const std::string& name);

}  // namespace heddle::learn
