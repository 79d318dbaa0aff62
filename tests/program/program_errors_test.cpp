// docs/errors.md shows what the program prints and the status it ends with.
#include <gtest/gtest.h>

#include "tests/documents.h"
#include "tests/program.h"
#include "tests/shell.h"

namespace heddle {
namespace {

/// True if `text` matches `pattern`, in which "..." matches anything.
bool fits(std::string_view text, std::string_view pattern) {
    const std::size_t gap = pattern.find("...");
    if (gap == pattern.npos) return text == pattern;
    if (!text.starts_with(pattern.substr(0, gap))) return false;
    text.remove_prefix(gap);
    pattern.remove_prefix(gap + 3);
    for (; !text.empty(); text.remove_prefix(1))
        if (fits(text, pattern)) return true;
    return pattern.empty();
}

TEST(ErrorsPage, ShowsWhatTheProgramSays) {
    const Workplace here;
    std::filesystem::create_directories(here.path("corpus"));
    std::filesystem::create_directories(here.path("runs/first"));
    here.write("runs/first/config.toml", "");
    here.write("corpus/a.de", "eins\nzwei\n");
    here.write("corpus/a.en", "one\n");
    here.write("corpus/latin1.de", "sch\xf6n\n");
    here.write("corpus/latin1.en", "nice\n");
    here.write("corpus/small.de", "ein Haus\nein Hund\nzwei Katzen\n");
    here.write("corpus/small.en", "a house\na dog\ntwo cats\n");
    here.write("corpus/typo.toml", "heads = 4\nheds = 3\n");

    int commands = 0;
    for (const std::string& block : fenced_blocks("docs/errors.md", "console")) {
        std::istringstream lines(block);
        const std::string begin = "$ heddle ", end = "; echo $?";
        for (std::string command, message, status; std::getline(lines, command); ++commands) {
            ASSERT_TRUE(command.starts_with(begin) && command.ends_with(end)) << command;
            ASSERT_TRUE(std::getline(lines, message) && std::getline(lines, status)) << command;
            const ProgramResult result = here.run(command.substr(begin.size(), command.size() - begin.size() - end.size()));
            EXPECT_EQ(std::to_string(result.status), status) << command;
            EXPECT_TRUE(fits(result.err, message + "\n")) << command << "\n" << result.err << "is not\n" << message;
            EXPECT_EQ(result.out, "") << command;
        }
    }
    EXPECT_GE(commands, 10);
    EXPECT_FALSE(here.exists("runs/new"));
}

// The advised command does not need the tests' libraries.
TEST(SiblingProgram, ThatIsMissingIsBuiltByTheCommandInTheError) {
    const Workplace here;
    std::filesystem::copy_file(HEDDLE_PROGRAM, here.path("heddle"));
    const auto error = [&](const std::string& command) {
        const ShellOutput said = shell(quoted(here.path("heddle")) + " " + command + " 2>&1");
        EXPECT_EQ(said.status, 1);
        return said.text;
    };
    EXPECT_THAT(
        error("explain relu"),
        testing::EndsWith("heddle-explain, which cannot be started: No such file or directory; build it with: cmake --preset "
                          "emulated -DHEDDLE_TESTS=OFF && cmake --build build/emulated --target heddle heddle-explain\n"));
    for (const char* const command : {"lab list", "learn list", "check x.cu"})
        EXPECT_THAT(error(command), testing::EndsWith("; build it with: cmake --build BUILD_FOLDER --target heddle-lab\n"));
}

}  // namespace
}  // namespace heddle
