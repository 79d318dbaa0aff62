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

// Runs a command in the source tree; the emulator is built inside the build folder and reused by later runs.
ShellOutput run(const std::string& command) {
    return shell("cd " + quoted(HEDDLE_SOURCE_DIR) + " && HEDDLE_EMULATOR_BUILD=" + quoted(HEDDLE_BUILD_DIR "/emulator_alone") +
                 " " + command + " 2>&1");
}

TEST(StandAlone, TheReadmeShowsTheExample) {
    EXPECT_EQ(fenced_blocks(kReadme, "cpp").at(0), project_file("kernels/emulator/example.cu"));
}

// A single test, because both programs are built in one folder and tests may run concurrently.
TEST(StandAlone, TheCommandOfTheReadmeFindsTheMissingBarrierAndNothingOnceItIsThere) {
    std::string command = fenced_blocks(kReadme, "sh").at(0);
    command.resize(command.find('\n'));
    const ShellOutput broken = run(command);
    EXPECT_EQ(broken.status, 1);
    EXPECT_THAT(broken.text, AllOf(HasSubstr("reverse_kernel"), HasSubstr("example.cu:9"), HasSubstr("HEDDLE_EMULATOR_SEED=")));

    std::string text = project_file("kernels/emulator/example.cu");
    const std::size_t read = text.find("    y[threadIdx.x] = tile");
    ASSERT_NE(read, std::string::npos);
    text.insert(read, "    __syncthreads();\n");
    const std::filesystem::path file = std::filesystem::path(HEDDLE_BUILD_DIR) / "emulator_alone_sound.cu";
    std::ofstream(file) << text;
    const ShellOutput sound = run("kernels/emulator/check " + quoted(file.string()));
    EXPECT_EQ(sound.status, 0);
    EXPECT_EQ(sound.text, "no mistake found\n");
}

TEST(StandAlone, AProgramIsBuiltAgainstTheInstalledEmulatorAsTheReadmeSays) {
    const std::string prefix = HEDDLE_BUILD_DIR "/emulator_installed";
    std::filesystem::remove_all(prefix);
    const auto install = [&](const char* component) {
        return shell("cmake --install " + quoted(HEDDLE_BUILD_DIR) + " --component " + component + " --prefix " + quoted(prefix) +
                     " 2>&1");
    };
    ASSERT_EQ(install("emulator").status, 0);
    if (!std::filesystem::exists(prefix + "/include"))
        GTEST_SKIP() << "only a build with HEDDLE_EMULATOR_CHECK installs the emulator";
    ASSERT_EQ(install("development").status, 0);  // also beside Heddle's own headers

    std::string command = fenced_blocks(kReadme, "sh").at(1);
    command = command.substr(command.find('\n') + 1);
    command.resize(command.find('\n'));
    const auto replace = [&](const std::string& word, const std::string& by) {
        for (std::size_t at = 0; (at = command.find(word, at)) != std::string::npos; at += by.size())
            command.replace(at, word.size(), by);
    };
    replace("DIR", prefix);
    replace("FILE.cu", "kernels/emulator/example.cu");
    replace("-o program", "-o " + prefix + "/program");
    const ShellOutput built = run(command);
    ASSERT_EQ(built.status, 0) << built.text;
    EXPECT_EQ(run(prefix + "/program").status, 0);
}

TEST(StandAlone, NoFileIsAnErrorThatShowsTheUse) {
    const ShellOutput output = run("kernels/emulator/check nowhere.cu");
    EXPECT_EQ(output.status, 2);
    EXPECT_THAT(output.text, HasSubstr("usage: "));
}

}  // namespace
}  // namespace heddle
