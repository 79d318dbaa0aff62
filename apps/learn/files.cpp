#include "apps/learn/files.h"

#include "apps/command/program_beside.h"
#include "core/format.h"

namespace heddle::learn {

Files files() {
    const std::filesystem::path folder = app::this_program().parent_path();
    const std::filesystem::path shared = folder.parent_path() / "share" / "heddle" / "learn", source = HEDDLE_SOURCE_DIR;
    Files found = {shared / "exercises", shared / "include", folder / "heddle-grader"};
    if (!std::filesystem::exists(found.exercises)) {
        found.exercises = source / "apps" / "learn" / "exercises";
        found.includes = HEDDLE_LEARN_INCLUDES;
    }
    check(std::filesystem::exists(found.exercises),
          "learn: the exercises are missing: neither {} nor {} is there; install Heddle again", (shared / "exercises").string(),
          found.exercises.string());
    return found;
}

}  // namespace heddle::learn
