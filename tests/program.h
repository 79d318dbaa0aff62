// Runs the built `heddle` program as a person would.
#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/support.h"

namespace heddle {

struct ProgramResult {
    int status = -1;
    std::string out;
    std::string err;
};

/// A folder of its own for one test, removed with it.
class Workplace {
  public:
    std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
    void write(const std::string& name, const std::string& text) const { std::ofstream(path(name), std::ios::binary) << text; }
    std::string read(const std::string& name) const {
        std::ostringstream text;
        text << std::ifstream(path(name), std::ios::binary).rdbuf();
        return text.str();
    }
    bool exists(const std::string& name) const { return std::filesystem::exists(path(name)); }

    /// `heddle ARGUMENTS` with the folder as working directory, `input` on stdin, and stdout in a file.
    ProgramResult run(const std::string& arguments, const std::string& input = "", const std::string& output = "stdout") const {
        write("stdin", input);
        const std::string command =
            "cd '" + folder_.path().string() + "' && '" HEDDLE_PROGRAM "' " + arguments + " <stdin >" + output + " 2>stderr";
        const int status = std::system(command.c_str());
        return {.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1, .out = read("stdout"), .err = read("stderr")};
    }

  private:
    TemporaryFolder folder_;
};

}  // namespace heddle
