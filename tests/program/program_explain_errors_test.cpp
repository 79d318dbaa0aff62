// Errors of `heddle explain` about names, shapes and files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "tests/program.h"

namespace heddle {
namespace {

using testing::HasSubstr;

TEST(ExplainErrors, SaysWhatIsWrong) {
    const Workplace here;
    const auto complains = [&](const std::string& words, int status, const std::string& part) {
        expect_complaint(here.run("explain " + words), status, part);
    };
    complains("softmaxx", 2, "did you mean softmax? see heddle explain list");
    complains("softmax --shape 4", 2, "--shape 4: heddle explain softmax wants numbers above 0 for rows, cols");
    complains("softmax --shape 4,0", 2, "wants numbers above 0");
    complains("softmax --shape 4,", 2, "wanted numbers with commas between them");
    complains("softmax --shape x", 2, "wanted numbers with commas between them");
    complains("softmax --shape ''", 2, "--shape: wanted numbers with commas between them");
    complains("softmax --shape 99999999999999999999,4", 2, "wanted smaller numbers");
    complains("--beside softmax-naive softmaxx", 2, "there is no example of a kernel 'softmaxx'");
    complains("--beside softmax-naive", 2, "--beside");
    complains("relu --beside softmax-naive softmax-warp", 2, "--beside softmax-naive softmax-warp: leave relu out");
    complains("--beside relu matmul-naive --shape 4,4", 2, "relu takes rows, cols, but matmul-naive takes m, n, k: leave it out");
    complains("relu --picture 'read z'", 2, "no step 'read z'; it has read x, warps, write y");
    complains("relu --picture 'read x 3'", 2, "no step 'read x 3'");
    complains("relu --picture 'read x,'", 2, "no step ''");
    complains("relu --picture warps --json", 2, "--picture has no effect with --json and without --out");
    complains("--beside softmax-naive softmax-warp --picture warps", 2, "--picture draws steps of one kernel");
    complains("matmul", 2, "no example of a kernel 'matmul'; there are matmul-naive, matmul-shared-tile, ");
    complains("mul", 2, "no example of a kernel 'mul'; see heddle explain list");
    complains("--json", 2, "explain: no kernel; give heddle explain NAME");
    complains("relu --picture ''", 2, "no step ''");
    complains("list --json", 2, "list runs nothing: --json has no effect");
    for (const std::string shape : {"2100,2100", "100000,100000", "999999999,999999999999"})
        complains("relu --shape " + shape, 1, "--shape " + shape + ": too large to be explained; choose smaller rows, cols");
    here.write("mine.html", "not a page of heddle's");
    complains("relu --out mine.html", 1, "mine.html");
    here.write("relu.svg", "<svg xmlns=\"http://www.w3.org/2000/svg\" aria-label=\"relu\"></svg>");
    complains("relu --picture warps", 1, "relu.svg: this file is no picture that heddle drew");
    EXPECT_THAT(here.read("relu.svg"), HasSubstr("aria-label=\"relu\"")) << "a drawing of the user's own";
    complains("relu --picture warps --out mine.html", 1, "mine.html: this file is no picture that heddle drew");
    EXPECT_EQ(here.read("mine.html"), "not a page of heddle's");
    for (int i = 0; i < 2; ++i)
        EXPECT_EQ(here.run("explain relu --picture warps --out warps.svg").status, 0) << "a picture replaces a picture";
}

// These errors come before the kernel runs.
TEST(ExplainErrors, SaysWhereItCannotWrite) {
    const Workplace here;
    std::filesystem::create_directories(here.path("folder"));
    ASSERT_EQ(mkfifo(here.path("pipe").c_str(), 0600), 0);
    for (const std::string what : {"relu", "relu --picture warps"}) {
        const auto complains = [&](const std::string& out, int status, const std::string& part) {
            expect_complaint(here.run("explain " + what + " --out " + out), status, part);
        };
        complains("folder", 1, "folder: it is a folder; wanted the name of a file");
        complains("pipe", 1, "pipe: it is a named pipe, a device or a socket");
        complains("none/x", 1, "cannot write 'none/x': there is no folder 'none'");
        complains("/proc/x", 1, "cannot write '/proc/x': ");
        complains("-", 2, "stdout is for the counts");
        complains("''", 2, "--out is empty, wanted FILE");
    }
    EXPECT_TRUE(std::filesystem::is_empty(here.path("folder")));
}

}  // namespace
}  // namespace heddle
