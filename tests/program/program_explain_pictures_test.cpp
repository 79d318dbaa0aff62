// The pictures of the chapters: what `heddle explain --picture` draws, and that the committed files are the program's own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>
#include <regex>
#include <set>

#include "core/file.h"
#include "tests/documents.h"
#include "tests/program.h"
#include "tests/shell.h"

namespace heddle {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// A row of 40 columns: lanes 0 to 9 have four each, in five sectors; shuffles and writes do not change that.
TEST(ExplainPictures, ShowTheChosenSteps) {
    const Workplace here;
    ASSERT_EQ(here.run("explain softmax --shape 2,40 --picture 'read x, write y 2,warps' --out steps.svg").status, 0);
    const std::string svg = here.read("steps.svg");
    EXPECT_TRUE(svg.starts_with("<svg "));
    EXPECT_THAT(svg,
                AllOf(HasSubstr("warp 0 of block 0 reads x [2, 40] f32, 16 bytes for each of 10 lanes: 5 sectors, 100 % used"),
                      HasSubstr("warp 1 of block 0 writes y [2, 40] f32"), HasSubstr("store_vector(a.y + row"),
                      HasSubstr(">9</text>"), HasSubstr("the warps of block 0 of softmax_narrow_kernel"),
                      HasSubstr("prefers-color-scheme:dark"), testing::Not(HasSubstr(">10</text>"))));
    // A column of a tile without padding: 32 words of bank 0, drawn below each other.
    ASSERT_EQ(here.run("explain permute-tile --shape 32,32 --picture 'read shared'").status, 0);
    const std::string conflict = here.read("permute-tile.svg");
    EXPECT_THAT(conflict, AllOf(HasSubstr("32 cycles of the banks, a 32-way conflict"), HasSubstr(">byte 3968</text>")));
    const std::regex of_bank_0("<text x=\"76[^>]*fill=\"#fff\">");
    EXPECT_EQ(std::distance(std::sregex_iterator(conflict.begin(), conflict.end(), of_bank_0), std::sregex_iterator()), 32);
}

// Every picture below the folder, as OP/NAME.svg.
std::set<std::string> pictures_below(const std::string& kernels) {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(kernels))
        if (entry.path().extension() == ".svg") names.insert(entry.path().lexically_relative(kernels).string());
    return names;
}

// Byte for byte.
TEST(ExplainPictures, TheCommittedFilesAreTheProgramsOwn) {
#if defined(__clang__) || !defined(__x86_64__)
    GTEST_SKIP() << "the pictures are those of GCC on x86-64: which instruction belongs to which line is the compiler's choice";
#endif
    const Workplace here;
    const std::string root = HEDDLE_SOURCE_DIR, drawn = here.path("kernels");
    const ShellOutput script = shell("bash '" + root + "/docs/make-explained.sh' '" HEDDLE_PROGRAM "' '" + drawn + "' 2>&1");
    ASSERT_EQ(script.status, 0) << script.text;
    EXPECT_EQ(pictures_below(drawn), pictures_below(root + "/kernels"));
    for (const std::string& name : pictures_below(drawn)) {
        const std::string svg = read_file(drawn + "/" + name);
        EXPECT_LE(svg.size(), 30'000u) << name;
        EXPECT_TRUE(svg == read_file(root + "/kernels/" + name))
            << name << " is not what the program draws: bash docs/make-explained.sh PROGRAM kernels";
    }
}

// Each op's chapter has at least one picture, and each picture is in the chapter of its op, with words for those who do not see
// it.
TEST(ExplainPictures, AreInEachChapter) {
    const std::string root = HEDDLE_SOURCE_DIR;
    const std::set<std::string> pictures = pictures_below(root + "/kernels");
    std::set<std::string> shown;
    const std::regex picture(R"(\n!\[([^\]]*)\]\(([^)/]*\.svg)\)\n)"), label("aria-label=\"(heddle explain [a-z0-9-]+) ");
    for (const auto& folder : std::filesystem::directory_iterator(root + "/kernels")) {
        const std::string op = folder.path().filename();
        if (!folder.is_directory() || op == "device" || op == "emulator") continue;
        const std::string chapter = read_file(folder.path() / "README.md");
        std::size_t count = 0;
        for (std::sregex_iterator at(chapter.begin(), chapter.end(), picture), end; at != end; ++at, ++count) {
            const std::string name = op + "/" + (*at)[2].str();
            EXPECT_GE((*at)[1].length(), 60) << op << ": " << name << " needs a text that says what is seen";
            ASSERT_TRUE(pictures.contains(name)) << op << " shows " << name << ", which docs/make-explained.sh does not draw";
            EXPECT_TRUE(shown.insert(name).second) << name << " is shown twice";
            const std::string svg = read_file(root + "/kernels/" + name);
            std::smatch command;
            ASSERT_TRUE(std::regex_search(svg, command, label)) << name;
            EXPECT_TRUE(chapter.find("`" + command[1].str() + "`") != std::string::npos)
                << op << " does not name the command that shows all steps of " << name << ": " << command[1];
        }
        EXPECT_GE(count, 1u) << op << " has no picture";
    }
    EXPECT_EQ(shown, pictures);
}

}  // namespace
}  // namespace heddle
