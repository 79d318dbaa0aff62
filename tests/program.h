// Runs the built `heddle` program as a person would.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support.h"

namespace heddle {

struct ProgramResult {
    int status = -1;
    std::string out;
    std::string err;
};

/// One line that begins as every complaint does, holds `part`, and is all that the program said.
inline void expect_complaint(const ProgramResult& result, int status, const std::string& part) {
    EXPECT_EQ(result.status, status) << result.err;
    EXPECT_THAT(result.err, testing::AllOf(testing::StartsWith("heddle: "), testing::HasSubstr(part)));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_EQ(result.out, "");
}

inline std::vector<std::string> lines_of(const std::string& text) {
    std::istringstream stream(text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

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

/// The commands that `heddle --help` lists, and those that the help of one lists: "train", "bench train".
inline std::vector<std::string> every_command() {
    const Workplace here;
    std::vector<std::string> commands;
    for (const std::string& line : lines_of(here.run("--help").out)) {
        if (!line.starts_with("  ")) continue;
        const std::string name = line.substr(2, line.find(' ', 2) - 2), before = "  heddle " + name + " ";
        const std::size_t listed = commands.size();
        for (const std::string& inner : lines_of(here.run(name + " --help").out))
            if (inner.starts_with(before))
                commands.push_back(name + " " + inner.substr(before.size(), inner.find(' ', before.size()) - before.size()));
        if (commands.size() == listed) commands.push_back(name);
    }
    EXPECT_GE(commands.size(), 9u);
    return commands;
}

}  // namespace heddle
