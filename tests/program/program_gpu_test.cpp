// The parts of tests/gpu.sh that run without a GPU: both sides measure the same cases, the table, and error messages.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <set>

#include "apps/bench/op_cases.h"
#include "tests/program.h"
#include "tests/shell.h"

namespace heddle {
namespace {

using testing::AllOf;
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

TEST(ProgramGpu, MakesATable) {
    HEDDLE_NEEDS_PYTHON_WITH("json");
    const Workplace here;
    here.write("results.jsonl",
               R"({"stage": "build", "name": "machine", "status": "done", "seconds": 0, "words": "a chip"})"
               "\n"
               R"({"stage": "test", "name": "softmax_device_test", "status": "failed", "seconds": 2, )"
               R"("words": "status 1 | one"})"
               "\n"
               R"({"stage": "bench-ops", "name": "a", "result": {"mode": "a device", "dtype": "bf16", "sizes": "large", )"
               R"("copy_gb_per_second": 500, "ops": [{"op": "softmax", "case": "[2, 2]", "forward_microseconds": 10, )"
               R"("forward_percent_of_copy": 91.4, "backward_microseconds": 20, "backward_percent_of_copy": 80}, )"
               R"({"op": "attention", "case": "two", "operations": "some", "forward_microseconds": 100, )"
               R"("forward_gflops": 200000, "backward_microseconds": 300, "backward_gflops": 150000}]}})"
               "\n"
               R"({"stage": "bench-ops", "name": "b", "result": {"op": "softmax", "case": "[2, 2]", "sizes": "large", )"
               R"("dtype": "bf16", "how": "torch", "deterministic": false, "forward_microseconds": 15, )"
               R"("backward_microseconds": 10}})"
               "\n"
               R"({"stage": "bench-ops", "name": "b", "result": {"op": "attention", "case": "two", "sizes": "large", )"
               R"("dtype": "bf16", "how": "flash", "deterministic": false, "forward_microseconds": 50, )"
               R"("backward_microseconds": 600}})"
               "\n"
               R"({"stage": "bench-ops", "name": "b", "result": {"op": "attention", "case": "two", "sizes": "large", )"
               R"("dtype": "bf16", "how": "math", "deterministic": true, "forward_microseconds": 400, )"
               R"("refused": "no backward"}})"
               "\n"
               R"({"stage": "bench-ops", "name": "heddle ladder", "result": {"mode": "a device", "ladder": "matmul", "what": "A B", )"
               R"("steps": [{"step": "naive", "dtype": "f32", "microseconds": 2000, "tflops": 68.7, "percent_of_peak": 50.4, )"
               R"("percent_of_copy": 3.2, "registers": 40}, )"
               R"({"step": "cuBLASLt", "dtype": "f32", "microseconds": 1000, "tflops": 137, "percent_of_copy": 6}]}})"
               "\n"
               R"({"stage": "bench-train", "name": "heddle small f32", "result": {"parameters": 2000000, )"
               R"("tokens_per_second": 3000}})"
               "\n"
               R"({"stage": "bench-train", "name": "torch eager small f32", "result": {"parameters": 2000000, )"
               R"("tokens_per_second": 2000}})"
               "\n"
               R"({"stage": "bench-train", "name": "torch compile small f32", "status": "failed", "seconds": 60, )"
               R"("words": "no end within the time"})"
               "\n"
               R"({"stage": "bench-train", "name": "cut o)");
    const ShellOutput made =
        shell(python_with("table.py") + quoted(here.path("results.jsonl")) + " " + quoted(here.path("results.json")) + " 2>&1");
    ASSERT_EQ(made.status, 0) << made.text;
    EXPECT_THAT(made.text, HasSubstr("table.py: left out: {\"stage\": \"bench-train\", \"name\": \"cut o"));
    EXPECT_THAT(made.text, AllOf(HasSubstr("a chip  \na device"),
                                 HasSubstr("| test | softmax_device_test | failed | 2 | status 1 \\| one |")));
    EXPECT_THAT(made.text,
                HasSubstr("| softmax | [2, 2] | bf16 | 10.0 | 91 | - | 20.0 | 80 | - | 15.0 | 1.50x | 10.0 | 0.50x |  |"));
    EXPECT_THAT(made.text, HasSubstr("| two | bf16 | 100.0 (200) | 50.0 (400) | 400.0 (50) | 0.50x | 4.00x |"));
    EXPECT_THAT(made.text, HasSubstr("| two | bf16 | 300.0 (150) | 600.0 (75) | refused | 2.00x | - |"));
    EXPECT_THAT(made.text, HasSubstr("| small | f32 | 2,000,000 | 3,000 | 2,000 | 1.50x | - | - |"));
    EXPECT_THAT(made.text, HasSubstr("| bench-train | torch compile small f32 | failed | 60 | no end within the time |"));
    EXPECT_THAT(made.text, AllOf(HasSubstr("| naive | f32 | 2000.0 | 68.7 | 50 | 3 | 40 |"),
                                 HasSubstr("| cuBLASLt | f32 | 1000.0 | 137.0 | - | 6 | - |")));
    EXPECT_EQ(nlohmann::json::parse(here.read("results.json")).size(), 10u);
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
