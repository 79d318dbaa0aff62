// heddle bench ops, on the CPU and on the CUDA device, emulated or real.
#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/device.h"
#include "tests/documents.h"
#include "tests/program.h"

namespace heddle {
namespace {

using testing::HasSubstr;

// The steps of a ladder by name; with_dtype: by "naive f32".
std::map<std::string, nlohmann::json> steps_of(const nlohmann::json& ladder, bool with_dtype = false) {
    std::map<std::string, nlohmann::json> steps;
    for (const auto& step : ladder["steps"])
        steps[step["step"].get<std::string>() + (with_dtype ? " " + step["dtype"].get<std::string>() : "")] = step;
    return steps;
}

TEST(ProgramBench, MeasuresEveryOpOnTheDevice) {
    if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    const Workplace here;
    const ProgramResult none = here.run("bench ops --device cuda --dtype bf16 --op adam --sizes tiny");
    EXPECT_EQ(none.status, 2);
    EXPECT_THAT(none.err, HasSubstr("there is no such op with --sizes tiny and --dtype bf16"));
    std::set<std::string> ops[2];
    for (const char* dtype : {"f32", "bf16"}) {
        const ProgramResult result =
            here.run(std::string("bench ops --device cuda --sizes tiny --seconds 0 --json --dtype ") + dtype);
        ASSERT_EQ(result.status, 0) << result.err;
        const auto object = nlohmann::json::parse(result.out);
        EXPECT_EQ(object["dtype"], dtype);
        EXPECT_EQ(object["sizes"], "tiny");
        EXPECT_GT(object["copy_gb_per_second"], 0);
        EXPECT_THAT(object["method"].get<std::string>(), HasSubstr("by events"));
        for (const auto& row : object["ops"]) {
            ops[dtype[0] == 'b'].insert(row["op"].get<std::string>());
            EXPECT_GT(row["forward_microseconds"], 0) << row;
            EXPECT_GT(row["forward_percent_of_copy"], 0) << row;
            EXPECT_EQ(row.contains("forward_gflops"), row.contains("operations")) << row;
            EXPECT_FALSE(row.contains("host_waits")) << row;
            EXPECT_TRUE(row.contains("graph")) << row;
            EXPECT_GT(row.value("backward_microseconds", 1.0), 0) << row;
        }
    }
    EXPECT_GE(ops[0].size(), 25u);
    ops[0].erase("adam");
    ops[0].erase("gradient_norm");
    EXPECT_EQ(ops[0], ops[1]);  // except the optimizer, which is only f32
}

// Counts for tiles that fill C exactly, as stated in the comment of each step.
TEST(ProgramBench, CountsWhatEachStepOfALadderAsksFor) {
    const Workplace here;
    if (!device::available()) {
        expect_complaint(here.run("bench ladder"), 2, "its steps are CUDA kernels");
        return;
    }
    const ProgramResult result = here.run("bench ladder matmul --size 128 --seconds 0 --json");
    ASSERT_EQ(result.status, 0) << result.err;
    const auto object = nlohmann::json::parse(result.out);
    EXPECT_EQ(object["size"], 128);
    auto steps = steps_of(object, true);
    ASSERT_EQ(steps.size(), 11u) << result.out;
    if (!device::emulated()) {
        for (const auto& [name, step] : steps) {
            EXPECT_GT(step["microseconds"], 0) << name;
            EXPECT_GT(step["percent_of_copy"], 0) << name;
            EXPECT_EQ(step.contains("registers"), !name.starts_with("cuBLASLt")) << name;
        }
        return;
    }
    constexpr std::int64_t n = 128, c = n * n;
    const auto expect = [&](const char* name, std::int64_t bytes, std::int64_t accesses, std::int64_t sectors) {
        EXPECT_EQ(steps[name]["launches"], 1) << name;
        EXPECT_EQ(steps[name]["bytes"], bytes) << name;
        EXPECT_EQ(steps[name]["accesses"], accesses) << name;
        EXPECT_EQ(steps[name]["sectors"], sectors) << name;
    };
    // A warp has 2 rows of 16 columns: 2 numbers of A, 64 bytes of B and 2 x 64 bytes of C.
    expect("naive f32", (2 * c * n + c) * 4, c / 32 * (2 * n + 1), c / 32 * (n * (2 + 2) + 4));
    // A warp reads a row of 32 elements of A, of B and of C; each element of A and B is read by 128 / 32 blocks.
    expect("shared_tile f32", (4 * c + 4 * c + c) * 4, 9 * c / 32, 9 * c / 32 * 4);
    // Each element once. A warp reads four rows of 8 elements of A, a row of 32 of B, two rows of 16 of C.
    expect("register_tile f32", 3 * c * 4, 3 * c / 32, 3 * c / 32 * 4);
    // 16 bytes per lane: two lanes read a row of A, of which 16 rows are read by a warp.
    expect("vector_loads f32", 3 * c * 4, 3 * c / 128, 3 * c / 128 * 16);
    expect("warp_tile f32", 3 * c * 4, 3 * c / 128, 3 * c / 128 * 16);
    EXPECT_LT(steps["warp_tile f32"]["shared_cycles"], steps["vector_loads f32"]["shared_cycles"]);
    // Copies of 16 bytes; C has one bf16 per lane: 8 rows of 8 columns, every second of which is in each element of a fragment.
    for (const char* name : {"tensor_cores bf16", "copies_ahead bf16", "swizzle bf16"})
        expect(name, 3 * c * 2, 2 * c / 256 + c / 32, 2 * c / 256 * 16 + c / 32 * 8);
    expect("whole_lines bf16", 3 * c * 2, 3 * c / 256, 3 * c / 256 * 16);
    for (const char* count : {"bytes", "launches"}) EXPECT_FALSE(steps["cuBLASLt f32"].contains(count)) << count;
    const ProgramResult table = here.run("bench ladder --size 1");
    EXPECT_THAT(table.out, testing::AllOf(HasSubstr("sectors"), HasSubstr("tensor_cores"), HasSubstr("cuBLASLt")));
    for (const char* ladder :
         {"transposed copy of", "softmax of", "layer norm of", "matmul, C = A B", "attention over", "feed-forward with"})
        EXPECT_THAT(table.out, HasSubstr(ladder));
}

// The chapters show what the command prints.
TEST(ProgramBench, TheChaptersShowItsTables) {
    if (!device::emulated()) GTEST_SKIP() << "the chapters' tables are those of the emulated device";
    const Workplace here;
    for (const char* op : {"permute", "softmax", "layer_norm", "matmul", "attention", "feed_forward"}) {
        const std::string out = here.run(std::string("bench ladder ") + op).out;
        const std::string rows = out.substr(out.find("step  "), out.find("each tensor once") - out.find("step  "));
        EXPECT_THAT(project_file(std::string("kernels/") + op + "/README.md"), HasSubstr("```\n" + rows)) << op;
    }
}

TEST(ProgramBench, PrintsATable) {
    if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    const Workplace here;
    const ProgramResult table = here.run("bench ops --device cuda --sizes tiny --op attention --seconds 0");
    ASSERT_EQ(table.status, 0) << table.err;
    EXPECT_THAT(table.out, testing::AllOf(HasSubstr("% copy"), HasSubstr("4 sentences of 5, 2 heads, causal"),
                                          HasSubstr("4 d_model for each query and key that meet")));
}

}  // namespace
}  // namespace heddle
