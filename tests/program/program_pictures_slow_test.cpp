// docs/pictures equals what the program draws.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "core/file.h"
#include "tests/documents.h"
#include "tests/shell.h"
#include "tests/support.h"

namespace heddle {
namespace {

TEST(ChapterPictures, AreWhatTheProgramDraws) {
    const TemporaryFolder folder;
    const std::string to = (folder / "pictures").string();
    ASSERT_EQ(shell("bash '" HEDDLE_SOURCE_DIR "/docs/make-pictures.sh' '" HEDDLE_PROGRAM "' " + quoted(to)).status, 0);
    std::set<std::string> drawn, kept;
    for (const auto& one : std::filesystem::directory_iterator(to)) {
        const std::string name = one.path().filename().string();
        drawn.insert(name);
        EXPECT_TRUE(read_file(one.path()) == project_file("docs/pictures/" + name))
            << name << " is not what the program draws; run\n    bash docs/make-pictures.sh build/release/heddle docs/pictures";
    }
    for (const auto& one : std::filesystem::directory_iterator(HEDDLE_SOURCE_DIR "/docs/pictures"))
        kept.insert(one.path().filename().string());
    EXPECT_EQ(drawn, kept);
}

}  // namespace
}  // namespace heddle
