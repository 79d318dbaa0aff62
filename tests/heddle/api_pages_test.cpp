// docs/make-api.sh, which makes the pages of the API from the headers' comments.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/shell.h"
#include "tests/support.h"

namespace heddle {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

// All pages of one room.
std::string pages(const fs::path& room) {
    std::ostringstream text;
    for (const auto& entry : fs::directory_iterator(room))
        if (entry.path().extension() == ".html") text << std::ifstream(entry.path()).rdbuf();
    return text.str();
}

TEST(ApiPages, HoldTheDeclarationsOfEachRoomWithTheirComments) {
    if (!has_program("doxygen")) GTEST_SKIP() << "doxygen is missing: no pages are made";
    const TemporaryFolder here;
    const ShellOutput made = shell("bash '" HEDDLE_SOURCE_DIR "/docs/make-api.sh' " + quoted((here / "api").string()) + " 2>&1");
    ASSERT_EQ(made.status, 0) << made.text;
    for (const char* room : {"core", "kernels", "autograd", "nn", "optim", "heddle"})
        EXPECT_TRUE(fs::exists(here.path() / "api" / room / "index.html")) << room;
    EXPECT_THAT(pages(here / "api/core"), AllOf(HasSubstr("mutable_values"), HasSubstr("bumps the version")));
    EXPECT_THAT(pages(here / "api/kernels"), HasSubstr("softmax_backward"));
    EXPECT_THAT(pages(here / "api/autograd"), AllOf(HasSubstr("linear_cross_entropy"), HasSubstr("set_requires_grad")));
    EXPECT_THAT(pages(here / "api/nn"), HasSubstr("CrossAttention"));
    EXPECT_THAT(pages(here / "api/optim"), HasSubstr("NotFinite"));
    EXPECT_THAT(pages(here / "api/heddle"), AllOf(HasSubstr("ModuleOptimizer"), HasSubstr("../optim/class")));
}

TEST(ApiPages, SayWhatIsMissing) {
    const TemporaryFolder here;
    const ShellOutput failed = shell("mkdir " + quoted((here / "bin").string()) + " && cd " + quoted((here / "bin").string()) +
                                     " && for tool in bash dirname realpath; do ln -s \"$(command -v $tool)\"; done && PATH=$PWD "
                                     "bash '" HEDDLE_SOURCE_DIR "/docs/make-api.sh' 2>&1");
    EXPECT_EQ(failed.status, 1);
    EXPECT_THAT(failed.text, HasSubstr("apt-get install doxygen"));
}

}  // namespace
}  // namespace heddle
