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

/// `seconds`: of processor time that the answer may take, and of waiting; the compiler may take 12 times as long, at least 30.
/// `keeps_run`: with all accesses of the run that the verdict is about. Error if the file cannot be read, or if there is no
/// compiler or no grader: what to install or build.
CheckResult check_file(const ExercisePage& page, const std::filesystem::path& file, std::int64_t seconds, bool keeps_run = false);

}  // namespace heddle::learn
