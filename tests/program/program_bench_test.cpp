// heddle bench ops, on the CPU and on the CUDA device, emulated or real.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <set>

#include "core/device.h"
#include "tests/program.h"

namespace heddle {
namespace {

using testing::HasSubstr;

TEST(ProgramBench, RefusesWhatIsNotThere) {
    const Workplace here;
    expect_complaint(here.run("bench ops --dtype bf16"), 2, "the CPU's ops compute in f32 and f64; add --device cuda");
    expect_complaint(here.run("bench ops --sizes huge"), 2, "huge");
    // Each set of sizes has its own cases.
    expect_complaint(here.run("bench ops --sizes sentences --op softmax"), 2, "choose one of attention\n");
    expect_complaint(here.run("bench ops --sizes large --op matmul"), 2, "choose one of attention, linear, ");
    const ProgramResult none = here.run("bench ops --device cuda --dtype bf16 --op adam --sizes tiny");
    EXPECT_EQ(none.status, 2);
    EXPECT_THAT(none.err, HasSubstr(device::available() ? "there is no such op with --sizes tiny and --dtype bf16" : "cuda"));
}

TEST(ProgramBench, MeasuresEveryOpOnTheDevice) {
    if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    const Workplace here;
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
    EXPECT_EQ(ops[0], ops[1]);  // but for the optimizer, whose numbers are f32
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
