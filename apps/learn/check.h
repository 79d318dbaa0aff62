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
    std::string text;     ///< its text
    std::string printed;  ///< the kernel's output in its first run, up to 4 KB
    std::string name;     ///< the file's name in reports
    double seconds = 0;
    std::optional<TracedRun> run = {};  ///< only if requested and if a kernel ran
};

/// `seconds` limits the answer's processor time and its time of waiting; the compiler gets 12 times as long, at least 30 seconds.
/// With `keeps_run` the result has all accesses of the run that the verdict is about. Error if the file cannot be read, or that
/// says what to install or build if there is no compiler or no grader.
CheckResult check_file(const ExercisePage& page, const std::filesystem::path& file, std::int64_t seconds, bool keeps_run = false);

}  // namespace heddle::learn
