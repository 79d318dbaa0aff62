// Checking a learner's file: compiles it with the machine's compiler and lets heddle-grader run it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "apps/learn/exercise_page.h"
#include "apps/learn/grader/traced_run.h"
#include "apps/learn/grader/verdict.h"

namespace heddle::learn {

struct CheckResult {
    Verdict verdict;
    std::string source;   ///< the learner's file
    std::string text;     ///< what was in it
    std::string printed;  ///< what the kernel printed the first time that it ran, up to 4 KB
    std::string name;     ///< of the file in reports
    double seconds = 0;
    std::optional<TracedRun> run = {};  ///< if it was asked for, and a kernel ran
};

/// `keeps_run`: with all accesses of the run that the verdict is about. Error if the file cannot be read, or if there is no
/// compiler or no grader: what to install or build.
CheckResult check_file(const ExercisePage& page, const std::filesystem::path& file, bool keeps_run = false);

/// The path of the C++ compiler: $CXX, else c++, g++ or clang++ in PATH. Error that says what to install.
std::string find_compiler();

/// The first error in a compiler's messages: its line of `source`, or 0, and its text; a pass if there is none. An error inside
/// of a header counts for the line of the source that led there.
Verdict compiler_verdict(const std::string& messages, const std::string& source);

/// What a compiler's messages warn of in `source`: "'sum' is used uninitialized (line 7)"; empty if they do not.
std::string compiler_warning(const std::string& messages, const std::string& source);

}  // namespace heddle::learn
