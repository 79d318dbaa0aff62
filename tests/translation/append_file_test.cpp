#include "apps/translation/run/append_file.h"

#include <gtest/gtest.h>

#include "core/file.h"
#include "tests/failing_outputs.h"
#include "tests/support.h"

namespace heddle::app {
namespace {

namespace fs = std::filesystem;

class AppendFileTest : public testing::Test {
  protected:
    TemporaryFolder folder_;
    fs::path path_ = folder_ / "file";
};

TEST_F(AppendFileTest, GoesOnBehindWhatIsThere) {
    AppendFile(path_).append("one\n");
    AppendFile file(path_);
    EXPECT_EQ(file.length(), 4);
    file.append("two\n");
    EXPECT_EQ(read_file(path_), "one\ntwo\n");
    EXPECT_EQ(file.length(), 8);
}

TEST_F(AppendFileTest, HasAllBytesOfACallOrNone) {
    AppendFile file(path_);
    file.append("whole\n");
    {
        const FilesUpTo limit(10);
        expect_error([&] { file.append("too long\n"); }, path_.string() + ": cannot be written: File too large");
        EXPECT_EQ(read_file(path_), "whole\n") << "the four bytes that there was room for are gone";
        file.append("end\n");
    }
    file.append("later\n");
    EXPECT_EQ(read_file(path_), "whole\nend\nlater\n");
}

TEST_F(AppendFileTest, FollowsItsName) {
    AppendFile file(path_);
    file.append("1\n");
    fs::remove(path_);
    file.append("2\n");
    EXPECT_EQ(read_file(path_), "2\n") << "a new one";
    write_file_atomically(path_, std::string_view("other\n"));
    EXPECT_EQ(file.length(), 6);
    file.append("3\n");
    EXPECT_EQ(read_file(path_), "other\n3\n");
    fs::resize_file(path_, 0);
    file.append("4\n");
    EXPECT_EQ(read_file(path_), "4\n");
    fs::rename(path_, folder_ / "elsewhere");
    fs::create_symlink(folder_ / "elsewhere", path_);
    expect_error([&] { file.append("5\n"); }, "cannot be written: Too many levels of symbolic links");
    EXPECT_EQ(read_file(folder_ / "elsewhere"), "4\n") << "no link is followed";
}

TEST_F(AppendFileTest, SaysWhyThereIsNone) {
    expect_error([&] { AppendFile(folder_ / "nowhere" / "file"); }, "No such file or directory");
    const fs::path moved = folder_ / "moved", here = folder_ / "here";
    fs::create_directory(here);
    AppendFile file(here / "file");
    fs::rename(here, moved);
    expect_error([&] { file.append("1\n"); }, "cannot be written: No such file or directory");
    EXPECT_EQ(file.length(), 0);
    fs::rename(moved, here);
    file.append("2\n");
    EXPECT_EQ(read_file(here / "file"), "2\n");
}

}  // namespace
}  // namespace heddle::app
