// Runs the gdb sessions shown in docs/cuda.md and kernels/emulator/README.md, and counts the frames of a training step.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "tests/documents.h"
#include "tests/shell.h"
#include "tests/support.h"

namespace heddle {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

// A program of this test's folder that was compiled for a debugger, and its arguments.
std::string stepped(const std::string& program_and_arguments) {
    const std::filesystem::path here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    return quoted((here / "stepped_").string()) + program_and_arguments;
}

// gdb's output for the commands after "(gdb)" on a page, and then for `more`, in the program that the page starts with gdb. The
// page's program is from the preset emulated-debug; here it is stepped_NAME in this test's folder.
std::string session(const std::string& page, const std::string& more) {
    const TemporaryFolder folder;
    std::ofstream commands(folder / "commands");
    std::istringstream text(project_file(page));
    std::string program;
    for (std::string line; std::getline(text, line);) {
        const std::size_t prompt = line.find("(gdb) "), start = line.find("gdb --args build/emulated-debug/tests/");
        if (prompt != std::string::npos) commands << line.substr(prompt + 6) << "\n";
        if (start != std::string::npos)
            program = line.substr(start + std::string("gdb --args build/emulated-debug/tests/").size());
    }
    commands << more << "\nkill\n";
    commands.close();
    EXPECT_NE(program, "") << page;
    return shell("HEDDLE_EMULATOR_THREADS=1 HEDDLE_EMULATOR_SEED=1 timeout 120 gdb -nx -batch -x " +
                 quoted((folder / "commands").string()) + " --args " + stepped(program) + " 2>&1")
        .text;
}

class Stepping : public testing::Test {
  protected:
    void SetUp() override {
        if (!has_program("gdb")) GTEST_SKIP() << "there is no gdb";
        const std::string trial = shell("gdb -nx -batch -ex run --args true 2>&1").text;
        if (trial.find("exited normally") == std::string::npos) GTEST_SKIP() << "gdb cannot start a program here: " << trial;
    }
};

TEST_F(Stepping, ThroughSoftmaxShowsIndicesAndLocals) {
    const std::string output = session("docs/cuda.md", "print row");
    EXPECT_THAT(output, AllOf(ContainsRegex("= .x = [0-9]+, y = 0, z = 0"), ContainsRegex("\nrow = [0-9]"),
                              ContainsRegex("\nend = [0-9]"), ContainsRegex("\nattending = "), Not(HasSubstr("No symbol")),
                              Not(HasSubstr("optimized out"))));
}

TEST_F(Stepping, OverABarrierStaysInItsThread) {
    const std::string output = session("kernels/emulator/README.md", "next\nnext\nnext\nprint threadIdx.x\ninfo locals");
    EXPECT_THAT(output, AllOf(HasSubstr("__syncthreads();"), HasSubstr("tile[blockDim.x - 1 - threadIdx.x]"), HasSubstr("= 5\n"),
                              ContainsRegex("\ntile = 0x"), Not(HasSubstr("No symbol"))));
}

// From Trainer::run() to Transformer::loss(), both counted: what somebody steps through who follows a batch into the model.
TEST_F(Stepping, IntoATrainingStepPassesEightFrames) {
    const std::string trace =
        shell("timeout 120 gdb -nx -batch -ex 'break heddle::nn::Transformer::loss' -ex run -ex backtrace -ex kill --args " +
              stepped("trainer_test --gtest_filter=Trainer.TeachesATinyModelToCopy 2>&1"))
            .text;
    std::istringstream lines(trace);
    std::vector<std::string> frames;  // innermost first
    for (std::string line; std::getline(lines, line);) {
        std::smatch name;
        if (std::regex_search(line, name, std::regex("^#[0-9]+ +(?:0x[0-9a-f]+ in )?([A-Za-z0-9_:]+)")))
            frames.push_back(name[1]);
    }
    const auto run = std::ranges::find(frames, "heddle::app::Trainer::run");
    ASSERT_NE(run, frames.end()) << trace;
    EXPECT_EQ(frames.front(), "heddle::nn::Transformer::loss");
    EXPECT_LE(run - frames.begin() + 1, 8) << trace;
}

}  // namespace
}  // namespace heddle
