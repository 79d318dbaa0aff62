// Python for tests that hold Heddle against other programs: $HEDDLE_PYTHON, or the python3 of the path.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace heddle {

inline std::string python() {
    const char* given = std::getenv("HEDDLE_PYTHON");
    return given != nullptr ? given : "python3";
}

/// Whether python() runs and has all of these modules: "torch sentencepiece".
inline bool python_has(const std::string& modules) {
    const std::string find = "import sys, importlib.util as u; sys.exit(any(u.find_spec(m) is None for m in sys.argv[1:]))";
    return std::system(("'" + python() + "' -c '" + find + "' " + modules + " 2>/dev/null").c_str()) == 0;
}

}  // namespace heddle

/// Skips the test where Python or one of its modules is missing, and says how to have it run.
#define HEDDLE_NEEDS_PYTHON_WITH(modules) \
    if (!heddle::python_has(modules))     \
    GTEST_SKIP() << heddle::python() << " has not all of: " << (modules) << "; name one that has by HEDDLE_PYTHON"
