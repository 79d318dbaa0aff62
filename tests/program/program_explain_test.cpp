// `heddle explain`: every listed kernel runs, and its counts are consistent.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>

#include "core/file.h"
#include "tests/documents.h"
#include "tests/program.h"

namespace heddle {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

// Reduces runs of spaces to one.
std::string without_spaces(const std::string& text) { return std::regex_replace(text, std::regex(" +"), " "); }

std::vector<std::string> kernels(const Workplace& here) {
    std::vector<std::string> names;
    std::istringstream list(here.run("explain list").out);
    for (std::string line; std::getline(list, line);) names.push_back(line.substr(0, line.find(' ')));
    return names;
}

json explained(const Workplace& here, const std::string& words) {
    const ProgramResult result = here.run("explain " + words + " --json");
    EXPECT_EQ(result.status, 0) << words << ": " << result.err;
    return result.status == 0 ? json::parse(result.out) : json();
}

// Expects that all lanes have values and offsets within named tensors, and that complete steps sum to the totals.
void expect_sound(const json& page) {
    for (const json& launch : page["launches"]) {
        std::int64_t sectors = 0, cycles = 0, warps = 0;
        for (const json& warp : launch["warps"]) {
            ++warps;
            for (const json& step : warp["steps"]) {
                ASSERT_LT(step["site"], launch["sites"].size());
                if (!step.contains("memory")) continue;
                const auto lanes = static_cast<std::size_t>(__builtin_popcount(step["lanes"].get<unsigned>()));
                for (const char* of_lanes : {"values", "offsets", "tensors"}) {
                    if (!step.contains(of_lanes)) continue;
                    ASSERT_EQ(step[of_lanes].size(), lanes) << of_lanes;
                }
                if (step["memory"] == "global") {
                    ASSERT_LE(step["needed"].get<std::int64_t>(), 32 * step["sectors"].get<std::int64_t>());
                    sectors += step["sectors"].get<std::int64_t>();
                } else {
                    ASSERT_GE(step["cycles"].get<std::int64_t>(), step["parts"].get<std::int64_t>());
                    cycles += step["cycles"].get<std::int64_t>();
                }
            }
        }
        EXPECT_EQ(warps, launch["warps_in_all"]) << "JSON has all warps, also those that do not fit a page";
        EXPECT_EQ(sectors, launch["totals"]["sectors"]);
        EXPECT_EQ(cycles, launch["totals"]["shared_cycles"]);
    }
}

// Every eighth kernel of the list, starting at another one in each test, so that ctest can run the eight tests in parallel.
constexpr std::size_t kShares = 8;
class ListedKernels : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Explain, ListedKernels, testing::Range(std::size_t{0}, kShares));

TEST_P(ListedKernels, AllRun) {
    const Workplace here;
    const std::vector<std::string> names = kernels(here);
    ASSERT_GT(names.size(), 70u);
    for (std::size_t i = GetParam(); i < names.size(); i += kShares) {
        const std::string& name = names[i];
        SCOPED_TRACE(name);
        const json page = explained(here, name);
        ASSERT_TRUE(page.is_object());
        ASSERT_FALSE(page["launches"].empty());
        bool has_source = false;
        for (const auto& [file, text] : page["sources"].items()) has_source |= file.ends_with(".cu") && !text.empty();
        EXPECT_TRUE(has_source) << "no .cu file among the sources";
        expect_sound(page);
    }
}

// y = max(x, 0) of 4 x 64 floats: 1 KB is read and 1 KB written, each sector once.
TEST(Explain, CountsOfReluAreThoseByHand) {
    const Workplace here;
    const json page = explained(here, "relu");
    ASSERT_EQ(page["launches"].size(), 1u);
    const json& launch = page["launches"][0];
    EXPECT_EQ(launch["totals"]["sectors"], 2 * 1024 / 32);
    EXPECT_EQ(launch["totals"]["needed_bytes"], 2 * 1024);
    EXPECT_EQ(launch["least_bytes"], 2 * 1024);
    EXPECT_EQ(launch["totals"]["divergent_requests"], 0);
    EXPECT_EQ(page["tensors"][0]["name"], "x");
    EXPECT_EQ(page["tensors"][0]["shape"], (std::vector<int>{4, 64}));
    EXPECT_EQ(page["tensors"][1]["name"], "y");
    EXPECT_EQ(here.run("explain relu --json").out, here.run("explain relu --json").out) << "the same each time";
}

// A maximum of 32 lanes takes five shuffles; each lane keeps the larger one of its value and of its partner's.
TEST(Explain, AShuffleHasTheValuesThatItMoves) {
    const Workplace here;
    const json launch = explained(here, "softmax-warp --shape 4,32")["launches"][0];
    std::vector<json> shuffles;
    for (const json& step : launch["warps"][0]["steps"])
        if (step["action"] == "collective") shuffles.push_back(step);
    ASSERT_EQ(shuffles.size(), 10u);
    std::vector<double> values;
    for (const json& step : launch["warps"][0]["steps"])
        if (step["action"] == "read" && values.empty())
            for (const json& value : step["values"]) values.push_back(std::stod(value.get<std::string>()));
    ASSERT_EQ(values.size(), 32u);
    for (std::size_t i = 0; i < 5; ++i) {
        const json& step = shuffles[i];
        ASSERT_EQ(step["before"].size(), 32u);
        ASSERT_EQ(step["from"].size(), 32u);
        EXPECT_FALSE(step.contains("after"));
        std::vector<double> next;
        for (std::size_t lane = 0; lane < 32; ++lane) {
            const std::size_t from = step["from"][lane];
            EXPECT_EQ(from ^ lane, shuffles[i]["from"][0].get<std::size_t>()) << "a butterfly";
            EXPECT_DOUBLE_EQ(std::stod(step["before"][lane].get<std::string>()), values[lane]);
            next.push_back(std::max(values[lane], values[from]));
        }
        values = next;
    }
    EXPECT_EQ(std::ranges::count(values, values[0]), 32) << "all lanes have the maximum";
}

TEST(Explain, SharesHaveADecimalWhereTheyAreNotWhole) {
    const Workplace here;
    const ProgramResult naive = here.run("explain softmax-naive --shape 8,40");
    EXPECT_THAT(without_spaces(naive.out), HasSubstr("of these needed by the request 12.5 %"));
    EXPECT_THAT(without_spaces(here.run("explain relu").out), HasSubstr("of these needed by the request 100 %"));
    here.run("explain softmax-naive --shape 8,40 --picture 'read x' --out step.svg");
    EXPECT_THAT(here.read("step.svg"), HasSubstr("12.5 % used"));
}

// The positions in the rooflines of A100 and H100.
TEST(Explain, ArithmeticIsThatByHand) {
    const Workplace here;
    struct Case {
        const char* words;
        double operations, moved, least;
        const char *peak, *moved_limit, *least_on_a100, *least_on_h100;
    };
    for (const Case& c : {
             // A warp has 2 rows of 16 columns, so each of 16 steps touches 2 sectors of A and 2 of B, and C 4: 16 warps.
             Case{"matmul-naive --shape 16,32,16", 2 * 16 * 32 * 16, 32 * 16 * (16 * 4 + 4), 4 * (16 * 16 + 16 * 32 + 16 * 32),
                  "f32", "bandwidth", "bandwidth", "bandwidth"},
             // One tile: every element is read once.
             Case{"matmul-vector-loads --shape 128,128,128", 2.0 * 128 * 128 * 128, 4 * 3 * 128 * 128, 4 * 3 * 128 * 128, "f32",
                  "arithmetic", "arithmetic", "arithmetic"},
             // The same, but a write has every second column of 8 rows: each of C's sectors, 16 numbers, is touched by four
             // writes.
             Case{"matmul-swizzle --shape 64,64,64", 2 * 64 * 64 * 64, 2 * (2 + 4) * 64 * 64, 2 * 3 * 64 * 64,
                  "bf16 tensor cores", "bandwidth", "bandwidth", "bandwidth"},
             // Four tensors of 64 rows of 32. Keys and values are read by 8 blocks of 8 queries each.
             Case{"attention-padding --shape 64,32", 4 * 64 * 64 * 32, 4 * 64 * 32 * (2 * 8 + 2), 4 * 64 * 32 * 4, "f32",
                  "bandwidth", "arithmetic", "bandwidth"},
         }) {
        SCOPED_TRACE(c.words);
        const json a = explained(here, c.words)["arithmetic"];
        EXPECT_EQ(a["operations"], c.operations);
        EXPECT_EQ(a["peak"], c.peak);
        EXPECT_DOUBLE_EQ(a["per_moved_byte"], c.operations / c.moved);
        EXPECT_DOUBLE_EQ(a["per_least_byte"], c.operations / c.least);
        ASSERT_EQ(a["limits"].size(), 2u);
        for (const json& limit : a["limits"]) {
            EXPECT_EQ(limit["moved"], c.moved_limit) << limit;
            EXPECT_EQ(limit["least"], limit["chip"] == "A100" ? c.least_on_a100 : c.least_on_h100) << limit;
        }
    }
    // With the causal mask query i has i + 1 keys.
    EXPECT_EQ(explained(here, "attention --shape 16,32")["arithmetic"]["operations"], 4 * 32 * (16 * 17 / 2));
    EXPECT_EQ(explained(here, "feed-forward-tiles --shape 5,6,7")["arithmetic"]["operations"], 2 * 5 * (6 * 7 + 7 * 6));
    EXPECT_FALSE(explained(here, "softmax-warp").contains("arithmetic")) << "its time is memory traffic; it states none";
    const std::string text = here.run("explain --beside softmax-warp matmul-vector-loads").out;
    EXPECT_THAT(without_spaces(text), AllOf(HasSubstr("two for each multiply-add - 131072\n"), HasSubstr("limit on A100 - "),
                                            HasSubstr("H100 SXM 3,352 GB/s")));
    EXPECT_THAT(here.read("softmax-warp-beside-matmul-vector-loads.html"), HasSubstr("<td>    limit on H100</td>"));
}

TEST(Explain, WritesAPageThatNeedsNothingElse) {
    const Workplace here;
    const ProgramResult result = here.run("explain softmax --shape 2,40 --out page.html");
    ASSERT_EQ(result.status, 0) << result.err;
    EXPECT_THAT(result.err, HasSubstr("wrote page.html"));
    EXPECT_THAT(result.out, AllOf(HasSubstr("These are accesses, not times"), HasSubstr("kernels/softmax/softmax.cu:")));
    const std::string page = read_file(here.path("page.html"));
    EXPECT_LE(page.size(), 2u << 20);
    EXPECT_THAT(page, AllOf(HasSubstr("These are accesses, not times"), HasSubstr("default-src")));
    EXPECT_THAT(page, testing::Not(HasSubstr("http://")));
}

TEST(Explain, PutsTwoVersionsSideBySide) {
    const Workplace here;
    const std::string shape = " --shape 8,40";
    const json page = explained(here, "--beside softmax-naive softmax-block" + shape);
    ASSERT_EQ(page["beside"].size(), 2u);
    EXPECT_EQ(page["beside"][0], explained(here, "softmax-naive" + shape));
    EXPECT_EQ(page["beside"][1], explained(here, "softmax-block" + shape));
    const ProgramResult text = here.run("explain --beside softmax-naive softmax-block" + shape);
    EXPECT_THAT(text.err, HasSubstr("wrote softmax-naive-beside-softmax-block.html"));
    EXPECT_THAT(text.out, AllOf(HasSubstr("heddle explain softmax-naive --shape 8,40: softmax, step 1"),
                                HasSubstr("of all blocks and launches"), HasSubstr("softmax_block_kernel")));
    EXPECT_LE(here.read("softmax-naive-beside-softmax-block.html").size(), 2u << 20);
    // The first kernel's default shape is used for both if the axes are the same, else each its own.
    EXPECT_EQ(explained(here, "--beside matmul-naive matmul-shared-tile")["beside"][1]["shape"], (std::vector<int>{16, 32, 16}));
    EXPECT_EQ(explained(here, "--beside relu matmul-naive")["beside"][1]["shape"], (std::vector<int>{16, 32, 16}));
}

// heddle bench ladder counts without tracing accesses: its totals must equal the sums over the requests.
TEST(Explain, CountsWhatTheLaddersCount) {
    const Workplace here;
    struct Size {
        std::string op, bench, shape;
    };
    constexpr std::pair<const char*, const char*> counts[] = {{"accesses", "global memory: requests of warps"},
                                                              {"moved", "  bytes moved, in sectors of 32"},
                                                              {"shared_accesses", "shared memory: requests of warps"},
                                                              {"shared_cycles", "  cycles of the banks"},
                                                              {"least_shared_cycles", "  cycles without conflicts"},
                                                              {"barriers", "barriers, once for each warp"},
                                                              {"collectives", "warp collectives"}};
    int compared = 0;
    for (const auto& [op, bench, shape] :
         {Size{"permute", "40", "40,40"}, Size{"softmax", "5", "5,256"}, Size{"layer_norm", "5", "5,256"},
          Size{"matmul", "24", "24,24,24"}, Size{"attention", "1", "64,32"}, Size{"feed_forward", "9", "9,32,128"}}) {
        json ladder = json::parse(here.run("bench ladder " + op + " --size " + bench + " --json").out);
        for (json& step : ladder["steps"]) {
            if (!step.contains("bytes")) continue;
            step["moved"] = 32 * step["sectors"].get<std::int64_t>();
            std::string name = op + "-" + step["step"].get<std::string>();
            std::ranges::replace(name, '_', '-');
            SCOPED_TRACE(name);
            const std::vector<std::string> lines = lines_of(here.run("explain " + name + " --shape " + shape).out);
            for (const auto& [ours, theirs] : counts) {
                std::int64_t sum = 0;  // over the launches
                for (const std::string& line : lines)
                    if (line.starts_with(std::string("  ") + theirs)) sum += std::stoll(line.substr(line.rfind(' ')));
                EXPECT_EQ(step[ours], sum) << ours;
            }
            ++compared;
        }
    }
    EXPECT_EQ(compared, 4 + 6 + 5 + 9 + 6 + 6);
}

// The chapter for readers who know only C++: its code is the kernels', its commands work, and the output shown is printed.
TEST(GpuBasics, ShowsWhatItsCommandsPrint) {
    const std::string document = "docs/gpu-basics.md";
    std::string code;
    for (const char* file :
         {"kernels/softmax/softmax_ladder.cu", "kernels/permute/permute_ladder.cu", "kernels/feed_forward/feed_forward_ladder.cu",
          "kernels/matmul/matmul_ladder.cu", "kernels/matmul/matmul_ladder_cores.cu", "kernels/device/reduce.h"})
        code += without_layout(project_file(file));
    for (const std::string& block : fenced_blocks(document, "cpp"))
        EXPECT_THAT(code, HasSubstr(without_layout(block))) << "no kernel has this code";
    const Workplace here;
    int commands = 0;
    for (const std::string& block : fenced_blocks(document, "")) {
        const std::vector<std::string> lines = lines_of(block);
        ASSERT_TRUE(lines.front().starts_with("$ heddle ")) << block;
        const ProgramResult result = here.run(lines.front().substr(9));
        ASSERT_EQ(result.status, 0) << lines.front() << ": " << result.err;
        for (std::size_t i = 1; i < lines.size(); ++i)
            EXPECT_THAT(without_spaces(result.out), HasSubstr(without_spaces(lines[i]))) << lines.front();
        ++commands;
    }
    EXPECT_GT(commands, 9);
    const std::string text = project_file(document);
    const std::regex inline_command("`heddle ([^`]+)`");
    for (std::sregex_iterator at(text.begin(), text.end(), inline_command), end; at != end; ++at)
        EXPECT_EQ(here.run((*at)[1]).status, 0) << (*at)[1];
}

}  // namespace
}  // namespace heddle
