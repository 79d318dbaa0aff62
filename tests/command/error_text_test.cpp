// Errors of the standard library, reworded for users.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <system_error>

#include "apps/command/commands.h"
#include "apps/terminal/error_text.h"
#include "core/error.h"
#include "core/file.h"
#include "tests/support.h"

namespace heddle::app {
namespace {

namespace fs = std::filesystem;

std::string thrown_text(const std::function<void()>& fail) {
    try {
        fail();
    } catch (const std::exception& error) {
        return error_text(error);
    }
    return "no error";
}

TEST(ErrorText, OfTheFileSystemNamesThePathAndTheReason) {
    const TemporaryFolder here;
    const std::string file = (here / "file").string();
    write_file_atomically(file, std::string_view("x"));
    EXPECT_EQ(thrown_text([&] { fs::directory_iterator{fs::path(file)}; }), file + ": cannot be used: Not a directory");
    EXPECT_EQ(thrown_text([&] { (void)fs::file_size(here / "none"); }),
              (here / "none").string() + ": cannot be used: No such file or directory");
    const std::string loop = (here / "loop").string(), other = (here / "other").string();
    fs::create_symlink(loop, loop);
    EXPECT_EQ(thrown_text([&] { (void)fs::exists(fs::path(loop)); }),
              loop + ": cannot be used: Too many levels of symbolic links");
    EXPECT_EQ(thrown_text([&] { fs::rename(here / "none", here / "other"); }),
              (here / "none").string() + " (for " + other + "): cannot be used: No such file or directory");
    const std::string unnamed = thrown_text([] { throw fs::filesystem_error("", std::make_error_code(std::errc::io_error)); });
    EXPECT_EQ(unnamed, "the working folder cannot be used: Input/output error; change to another one");
}

TEST(ErrorText, OfAThreadThatCannotBeStartedNamesMemoryAndTheLimit) {
    const auto no_thread = [] { throw std::system_error(EAGAIN, std::generic_category()); };
    EXPECT_EQ(thrown_text(no_thread), no_further_thread);
    testing::internal::CaptureStderr();
    EXPECT_EQ(guarded([&]() -> int { return no_thread(), 0; }), 1);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "heddle: " + std::string(no_further_thread) + "\n");
}

TEST(ErrorText, OfOthersIsTheirOwn) {
    EXPECT_EQ(thrown_text([] { throw Error("mine"); }), "mine");
    EXPECT_EQ(thrown_text([] { throw std::system_error(ENOSPC, std::generic_category(), "log"); }),
              "log: No space left on device");
}

}  // namespace
}  // namespace heddle::app
