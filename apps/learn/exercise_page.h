// The exercises as a learner sees them, each a file NAME.md with the page and a solution from which the starter is cut; and where
// the files of `heddle learn` lie, in the source tree or below an installed program.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace heddle::learn {

struct Files {
    std::filesystem::path exercises;  ///< holds NAME.md for each exercise
    std::filesystem::path includes;   ///< "kernels/device/cuda.h" lies below it
    std::filesystem::path grader;     ///< the program heddle-grader, which may be missing

    /// The folder of this exercise's exercise.h.
    std::filesystem::path header_folder(const std::string& exercise) const { return includes / "exercises" / exercise; }
};

/// The files in ../share/heddle/learn beside an installed program, else those of the source tree. Error if neither is there.
Files files();

/// The first line of a page is <!-- learn: TRACK N, starter KIND -->: its place among all exercises, and the verdict that the
/// starter gets, which a test reads. Then follow "# TITLE", the page, the header that answers include under "## exercise.h", the
/// hints as a numbered list under "## Hints", and under "## Solution" a block marked as cuda, or as cpp for host C++.
struct ExercisePage {
    std::string name;  ///< that of its file
    std::string title;
    std::string track;
    int place = 0;                   ///< in the track, from 1
    std::string text;                ///< without the first line, the hints and the solution
    std::vector<std::string> hints;  ///< Markdown, without numbers
    std::string starter, solution;   ///< the text that a learner begins with, and an answer that passes
    bool on_device =
        true;  ///< the answer is a kernel in a .cu file, with every access watched; else host C++ on the tape, in a .cpp file

    std::string extension() const { return on_device ? ".cu" : ".cpp"; }
    /// The name of a learner's file: "map.cu".
    std::string file_name() const { return name + extension(); }
};

/// The starter or the solution that a page's block holds: one branch of each of its #ifdef STARTER, #ifndef STARTER, #else and
/// #endif. A comment that begins with //: is the starter's alone.
std::string cut(const std::string& text, bool starter);

/// All exercises in the order of the tracks. Error for a page without one of its parts.
std::vector<ExercisePage> exercise_pages();
/// The page of this name; UsageError with a suggestion if there is none.
const ExercisePage& page_named(const std::vector<ExercisePage>& pages, const std::string& name);

}  // namespace heddle::learn
