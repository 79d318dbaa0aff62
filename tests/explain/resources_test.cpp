// Registers and occupancy of `heddle explain`: the committed table, and NVIDIA's rules by hand.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <regex>

#include "apps/explain/resources.h"
#include "core/file.h"
#include "tests/support.h"

namespace heddle::explain {
namespace {

TEST(ExplainResources, AreThoseOfTheTable) {
    const std::string text = read_file(HEDDLE_SOURCE_DIR "/docs/measured/resources.md");
    ASSERT_NE(text.find("\n| kernel | sm_80: registers | stack | spills stored | loaded | sm_90a: registers | stack | "),
              std::string::npos);
    ASSERT_EQ(chips()[0].architecture, "sm_80");
    ASSERT_EQ(chips()[1].architecture, "sm_90a");
    const std::regex row(R"(\n\| `([^`]*)` \| (\d+) \| \d+ \| (\d+) \| \d+ \| (\d+) \| \d+ \| (\d+) \| \d+ \|)");
    int rows = 0;
    for (std::sregex_iterator at(text.begin(), text.end(), row), end; at != end; ++at, ++rows)
        for (std::size_t chip = 0; chip < 2; ++chip) {
            const std::optional<Registers> found = registers_of(chips()[chip], (*at)[1].str());
            ASSERT_TRUE(found) << (*at)[1];
            EXPECT_EQ(found->registers, std::stoi((*at)[2 + 2 * chip])) << (*at)[1];
            EXPECT_EQ(found->spilled_bytes, std::stoi((*at)[3 + 2 * chip])) << (*at)[1];
        }
    EXPECT_GT(rows, 400);
    for (const Chip& chip : chips()) {
        EXPECT_TRUE(registers_of(chip, "reduce_rows_kernel<kernels::SumSoFar<float>, float, float, 4>")) << "as a trace names it";
        EXPECT_FALSE(registers_of(chip, "relu_forward_kernel")) << "without its arguments it is none";
    }
}

// 16384 registers in each quarter of an SM; 164 and 228 kB of shared memory, of which each block costs 1 kB more than it asks
// for.
TEST(ExplainResources, OccupancyIsThatByHand) {
    struct Case {
        int registers;
        unsigned threads;
        std::size_t shared;
        int on_a100, on_h100;
        const char *limit_on_a100, *limit_on_h100;
    };
    for (const Case& c : {
             Case{32, 1024, 0, 64, 64, "warps", "warps"},                         // a warp 1024: 16 in a quarter
             Case{33, 256, 0, 48, 48, "registers", "registers"},                  // 1056 become 1280: 12 in a quarter, 6 blocks
             Case{255, 128, 0, 8, 8, "registers", "registers"},                   // 8192: two in a quarter
             Case{255, 512, 0, 0, 0, "registers", "registers"},                   // sixteen warps, but only eight fit
             Case{16, 32, 0, 32, 32, "blocks", "blocks"},                         // 32 blocks of one warp
             Case{16, 33, 0, 64, 64, "warps", "warps"},                           // two warps, one of them nearly empty
             Case{32, 256, 48 * 1024, 24, 32, "shared memory", "shared memory"},  // 49 kB: three and four blocks
             Case{128, 128, 54 * 1024 + 1, 8, 16, "shared memory",
                  "registers"},  // 55.125 kB: two and four; 16 warps by registers
         }) {
        const Occupancy a100 = occupancy_of(chips()[0], c.registers, c.threads, c.shared);
        const Occupancy h100 = occupancy_of(chips()[1], c.registers, c.threads, c.shared);
        const std::string name = fmt::format("{} registers, {} threads, {} bytes", c.registers, c.threads, c.shared);
        EXPECT_EQ(a100.warps, c.on_a100) << name;
        EXPECT_EQ(h100.warps, c.on_h100) << name;
        EXPECT_EQ(a100.limit, c.limit_on_a100) << name;
        EXPECT_EQ(h100.limit, c.limit_on_h100) << name;
    }
}

TEST(ExplainResources, AreSaidOfEachLaunch) {
    emulator::TracedLaunch launch;
    launch.kernel = "relu_forward_kernel<float, 4>";
    launch.block = {256, 1, 1};
    const std::string registers = std::to_string(registers_of(chips()[0], launch.kernel)->registers);
    Explanation explanation;
    const auto rows = resource_rows(explanation, launch);
    ASSERT_EQ(rows.size(), 4u);
    EXPECT_EQ(rows[0], (std::vector<std::string>{"A100: registers of a thread", registers}));
    EXPECT_EQ(rows[3], (std::vector<std::string>{"  warps that an SM holds, of 64", "64"}));
    const nlohmann::ordered_json json = resources_json(explanation, launch);
    ASSERT_EQ(json.size(), 2u);
    EXPECT_EQ(json[1]["chip"], "H100");
    EXPECT_EQ(json[1]["limit"], "warps");

    launch.kernel = "nobodys_kernel";
    EXPECT_EQ(resource_rows(explanation, launch)[0][1], "not in docs/measured/resources.md");
    EXPECT_TRUE(resources_json(explanation, launch).empty());
    launch.kernel = "relu_forward_kernel<float, 4>";
    explanation.sources["mine.cu"] = "a learner's kernel of the same name, of which there is no table";
    EXPECT_TRUE(resource_rows(explanation, launch).empty());
    EXPECT_TRUE(resources_json(explanation, launch).empty());
}

}  // namespace
}  // namespace heddle::explain
