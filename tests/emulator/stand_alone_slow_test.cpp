// The emulator without Heddle: runs the README's command on its example.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "tests/documents.h"
#include "tests/shell.h"

namespace heddle {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const char* const kReadme = "kernels/emulator/README.md";

// Runs a command in the source tree; the emulator is built inside the build folder and reused by later runs. Its build is not
// optimised, which takes most of the time and is seen to work by the builds of all other tests.
ShellOutput run(const std::string& command) {
    return shell("cd " + quoted(HEDDLE_SOURCE_DIR) + " && export CMAKE_BUILD_TYPE=Debug CXXFLAGS=-g0 HEDDLE_EMULATOR_BUILD=" +
                 quoted(HEDDLE_BUILD_DIR "/emulator_alone") + " && " + command + " 2>&1");
}

TEST(StandAlone, TheReadmeShowsTheExample) {
    EXPECT_EQ(fenced_blocks(kReadme, "cpp").at(0), project_file("kernels/emulator/example.cu"));
}

// A single test, because the programs are built in one folder and tests may run concurrently.
TEST(StandAlone, TheCommandOfTheReadmeFindsTheMissingBarrierAndNothingOnceItIsThere) {
    std::string command = fenced_blocks(kReadme, "sh").at(0);
    command.resize(command.find('\n'));
    const ShellOutput broken = run(command);
    EXPECT_EQ(broken.status, 3);
    EXPECT_THAT(broken.text, AllOf(HasSubstr("kernels/emulator/example.cu:6: "), HasSubstr("kernels/emulator/example.cu:7: "),
                                   HasSubstr("kernel reverse"), HasSubstr("heddle-check: 1 violation (race) in 3 orders\n")));

    std::string text = project_file("kernels/emulator/example.cu");
    const std::size_t read = text.find("    y[threadIdx.x] = tile");
    ASSERT_NE(read, std::string::npos);
    text.insert(read, "    __syncthreads();\n");
    const std::filesystem::path file = std::filesystem::path(HEDDLE_BUILD_DIR) / "emulator_alone_sound.cu";
    std::ofstream(file) << text;
    const ShellOutput sound = run("kernels/emulator/check " + quoted(file.string()));
    EXPECT_EQ(sound.status, 0);
    EXPECT_EQ(sound.text, "finished\nheddle-check: no violation in 3 orders, 1 kernel, 1 launch\n");

    // Installed, it finds its headers and its library beside itself.
    const std::string prefix = HEDDLE_BUILD_DIR "/emulator_installed", build = HEDDLE_BUILD_DIR "/emulator_alone";
    std::filesystem::remove_all(prefix);
    const ShellOutput installed = run("cmake --build " + quoted(build) + " && cmake --install " + quoted(build) +
                                      " --component emulator --prefix " + quoted(prefix));
    ASSERT_EQ(installed.status, 0) << installed.text;
    const ShellOutput program = run(quoted(prefix + "/bin/heddle-check") + " " + quoted(file.string()));
    EXPECT_EQ(program.status, 0) << program.text;
    for (const char* const header : {"kernel.h", "include/cuda/barrier", "cuda/prelude.h"})
        EXPECT_TRUE(std::filesystem::exists(prefix + "/include/heddle/kernels/emulator/" + header)) << header;
}

TEST(StandAlone, NoFileIsAnErrorThatShowsTheUse) {
    const ShellOutput output = run("kernels/emulator/check");
    EXPECT_EQ(output.status, 2);
    EXPECT_THAT(output.text, HasSubstr("usage: "));
}

}  // namespace
}  // namespace heddle
