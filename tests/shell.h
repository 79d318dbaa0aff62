// Runs other programs than Heddle: its scripts, cmake, Python.
#pragma once

#include <sys/wait.h>

#include <cstdio>
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

}  // namespace heddle
