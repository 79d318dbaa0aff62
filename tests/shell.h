// Runs other programs than Heddle: its scripts, cmake, Python.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace heddle {

struct ShellOutput {
    int status = -1;
    std::string text;  ///< stdout, then stderr where the command says 2>&1
};

/// Runs a command of sh.
inline ShellOutput shell(const std::string& command) {
    ShellOutput output;
    FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) return output;
    char buffer[4096];
    for (std::size_t n; (n = fread(buffer, 1, sizeof(buffer), pipe)) > 0;) output.text.append(buffer, n);
    const int status = pclose(pipe);
    if (WIFEXITED(status)) output.status = WEXITSTATUS(status);
    return output;
}

/// As one word of sh; `text` holds no quote.
inline std::string quoted(const std::string& text) { return "'" + text + "'"; }

/// Whether sh finds a program of this name.
inline bool has_program(const std::string& name) { return shell("command -v " + quoted(name) + " 2>&1").status == 0; }

// ---- Python for tests that hold Heddle against other programs: $HEDDLE_PYTHON, or the python3 of the path

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
