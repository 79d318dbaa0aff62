// The parts of tests/gpu.sh that run without a GPU: both sides measure the same cases, and error messages.
#include <gmock/gmock.h>

#include <set>

#include "apps/bench/op_cases.h"
#include "tests/program.h"
#include "tests/shell.h"

namespace heddle {
namespace {

using testing::HasSubstr;

const std::string script = quoted(HEDDLE_SOURCE_DIR "/tests/gpu.sh");
const std::string folder = HEDDLE_SOURCE_DIR "/tests/gpu/";

std::string python_with(const std::string& file) { return quoted(python()) + " " + quoted(folder + file) + " "; }

TEST(ProgramGpu, ThePeersCasesAreOurs) {
    HEDDLE_NEEDS_PYTHON_WITH("json");
    const ShellOutput listed = shell(python_with("torch_ops.py") + "--list");
    ASSERT_EQ(listed.status, 0);
    std::set<std::string> ours;
    for (const char* sizes : {"large", "sentences", "translator"})
        for (const DType dtype : {DType::bf16, DType::f32})
            for (const cases::BenchCase& one : app::op_cases({.dtype = dtype, .sizes = sizes}))
                ours.insert(std::string(sizes) + "\t" + std::string(name(dtype)) + "\t" + one.op + "\t" + one.what);
    const std::vector<std::string> theirs = lines_of(listed.text);
    EXPECT_GE(theirs.size(), 60u);
    for (const std::string& one : theirs) EXPECT_TRUE(ours.contains(one)) << one;
}

TEST(ProgramGpu, SaysWhatIsMissing) {
    const Workplace here;
    const std::string out = " --out " + quoted(here.path("out")) + " --build " + quoted(here.path("build")) + " 2>&1";
    const std::string pack = quoted(here.path("pack"));
    const ShellOutput stage = shell(script + " --with " + pack + " --only nonsense" + out);
    EXPECT_EQ(stage.status, 2);
    EXPECT_THAT(stage.text, HasSubstr("wanted one of build test bench-ops bench-train"));
    const ShellOutput packless = shell(script + " --with " + pack + out);
    EXPECT_EQ(packless.status, 2);
    EXPECT_THAT(packless.text, HasSubstr("is no pack; make one with tests/gpu.sh --pack"));
    const ShellOutput dataless = shell(script + " --pack " + pack + " --data " + quoted(here.path("none")) + " 2>&1");
    EXPECT_EQ(dataless.status, 1);
    EXPECT_THAT(dataless.text, HasSubstr("name another place with --data or --peer"));
    EXPECT_FALSE(here.exists("pack"));

    if (shell("nvidia-smi -L 2>&1").status == 0) return;
    here.write("NEEDS", "");
    for (const char* one : {"test", "bench-ops", "bench-train"}) {
        const ShellOutput result = shell(script + " --with " + quoted(here.path(".")) + " --only " + one + out);
        EXPECT_EQ(result.status, 3) << result.text;
        EXPECT_THAT(result.text, HasSubstr(std::string(one) + " needs a GPU, and nvidia-smi shows none"));
    }
    EXPECT_THAT(here.read("out/results.jsonl"), HasSubstr(R"("name": "gpu", "status": "failed")"));
}

}  // namespace
}  // namespace heddle
