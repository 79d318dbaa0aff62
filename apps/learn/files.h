// Where the files of `heddle learn` lie: in the source tree, or below an installed program.
#pragma once

#include <filesystem>

namespace heddle::learn {

struct Files {
    std::filesystem::path exercises;  ///< a folder for each
    std::filesystem::path includes;   ///< "kernels/device/cuda.h" lies below it
    std::filesystem::path grader;     ///< the program heddle-grader, which may be missing
};

/// Beside an installed program ../share/heddle/learn, else the source tree. Error if neither is there.
Files files();

}  // namespace heddle::learn
