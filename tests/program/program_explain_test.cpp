// `heddle explain`: every kernel it lists runs, and what it says adds up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "tests/browser.h"
#include "tests/program.h"

namespace heddle {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

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

// Every lane has a value and, in a named tensor, an offset inside of it; and the steps sum to the totals where all are there.
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

TEST(Explain, EveryListedKernelRuns) {
    const Workplace here;
    const std::vector<std::string> names = kernels(here);
    ASSERT_GT(names.size(), 30u);
    for (const std::string& name : names) {
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

// y = max(x, 0) of 4 x 64 floats: 1 KB in, 1 KB out, each sector once.
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

TEST(Explain, ThePageStepsThroughAWarp) {
    if (!has_program("chromium")) GTEST_SKIP() << "chromium is missing: the page was not opened";
    const Workplace here;
    ASSERT_EQ(here.run("explain softmax --out page.html").status, 0);
    std::string page = read_file(here.path("page.html"));
    const std::string probe = R"(<script>
const now = document.querySelector('#explain .now'), first = now.textContent;
document.getElementById('explain').dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}));
document.querySelectorAll('#explain .lanes button')[3].focus();
document.title = encodeURIComponent(JSON.stringify({first, moved: first !== now.textContent,
    lane: document.querySelectorAll('#explain .said')[1].textContent, line: document.querySelectorAll('.here').length,
    jumps: document.querySelectorAll('.jump').length}));
</script>)";
    page.insert(page.rfind("</body>"), probe);
    const json seen = title_of(page);
    ASSERT_TRUE(seen.is_object()) << seen;
    EXPECT_THAT(seen["first"].get<std::string>(), HasSubstr("bytes needed"));
    EXPECT_EQ(seen["moved"], true);
    EXPECT_EQ(seen["line"], 1);
    EXPECT_GT(seen["jumps"], 2);
    EXPECT_THAT(seen["lane"].get<std::string>(), HasSubstr("lane 3"));
}

TEST(Explain, SaysWhatIsWrong) {
    const Workplace here;
    const auto complains = [&](const std::string& words, int status, const std::string& part) {
        expect_complaint(here.run("explain " + words), status, part);
    };
    complains("softmaxx", 2, "did you mean softmax? see heddle explain list");
    complains("softmax --shape 4", 2, "--shape 4: heddle explain softmax wants numbers above 0 for rows, cols");
    complains("softmax --shape 4,0", 2, "wants numbers above 0");
    complains("softmax --shape 4,", 2, "wanted numbers with commas between them");
    complains("softmax --shape x", 2, "wanted numbers with commas between them");
    complains("list --json", 2, "list runs nothing: --json has no effect");
    complains("relu --shape 2100,2100", 1, "--shape 2100,2100: too large to be explained; choose smaller rows, cols");
    here.write("mine.html", "not a page of heddle's");
    complains("relu --out mine.html", 1, "mine.html");
}

}  // namespace
}  // namespace heddle
