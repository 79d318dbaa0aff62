// Where the files of `heddle learn` lie: in the source tree, or below an installed program.
#pragma once

#include <filesystem>
#include <string>

namespace heddle::learn {

struct Files {
    std::filesystem::path exercises;  ///< a folder for each
    std::filesystem::path includes;   ///< "kernels/device/cuda.h" lies below it
    std::filesystem::path grader;     ///< the program heddle-grader, which may be missing

    /// Where this exercise's exercise.h lies.
    std::filesystem::path header_folder(const std::string& exercise) const { return includes / "exercises" / exercise; }
};

/// Beside an installed program ../share/heddle/learn, else the source tree. Error if neither is there.
Files files();

}  // namespace heddle::learn
