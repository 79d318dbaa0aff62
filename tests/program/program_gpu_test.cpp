// The parts of tests/gpu.sh that run without a GPU: error messages.
#include <gmock/gmock.h>

#include <filesystem>

#include "tests/program.h"
#include "tests/shell.h"

namespace heddle {
namespace {

using testing::HasSubstr;

const std::string script = quoted(HEDDLE_SOURCE_DIR "/tests/gpu.sh");

TEST(ProgramGpu, SaysWhatIsMissing) {
    const Workplace here;
    const std::string out = " --out " + quoted(here.path("out")) + " --build " + quoted(here.path("build")) + " 2>&1";
    const std::string pack = quoted(here.path("pack"));
    const ShellOutput stage = shell(script + " --with " + pack + " --only nonsense" + out);
    EXPECT_EQ(stage.status, 2);
    EXPECT_THAT(stage.text, HasSubstr("wanted one of build test bench"));
    const ShellOutput packless = shell(script + " --with " + pack + out);
    EXPECT_EQ(packless.status, 2);
    EXPECT_THAT(packless.text, HasSubstr("is no pack; make one with tests/gpu.sh --pack"));
    std::filesystem::create_directory(here.path("pack"));
    const ShellOutput taken = shell(script + " --pack " + pack + " 2>&1");
    EXPECT_EQ(taken.status, 1);
    EXPECT_THAT(taken.text, HasSubstr("is there and is no pack; name a new folder"));

    if (shell("nvidia-smi -L 2>&1").status == 0) return;
    here.write("NEEDS", "");
    for (const char* one : {"test", "bench"}) {
        const ShellOutput result = shell(script + " --with " + quoted(here.path(".")) + " --only " + one + out);
        EXPECT_EQ(result.status, 3) << result.text;
        EXPECT_THAT(result.text, HasSubstr(std::string(one) + " needs a GPU, and nvidia-smi shows none"));
    }
    EXPECT_THAT(here.read("out/results.jsonl"), HasSubstr(R"("name": "gpu", "status": "failed")"));
}

}  // namespace
}  // namespace heddle
