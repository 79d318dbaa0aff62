// The pages of kernels that are no part of Heddle: `heddle learn explain`, whether the answer is right or wrong, and `heddle
// explain FILE.cu`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/browser.h"
#include "tests/documents.h"
#include "tests/learn_answers.h"
#include "tests/markup.h"
#include "tests/program.h"

namespace heddle {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

// Writes the answer "block-sum/wrong/never-stops" as a learner's file block-sum.cu.
std::string put(const Workplace& here, const std::string& name) {
    std::string file = name.substr(0, name.find('/')) + ".cu";
    here.write(file, answer_of(name));
    return file;
}

json explained(const Workplace& here, const std::string& file, const std::string& options = "") {
    const ProgramResult result = here.run("learn explain " + file + " --json" + options);
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.err, here.exists("page.html") ? "wrote page.html\n" : "");
    const json page = json::parse(result.out, nullptr, false);
    EXPECT_TRUE(page.is_object()) << result.out;
    return page;
}

json checked(const Workplace& here, const std::string& file) {
    return json::parse(here.run("learn check " + file + " --json").out);
}

// The step that the page gives for an access.
json step_of(const json& page, const json& access) {
    for (const json& warp : page["launches"][access["launch"].get<std::size_t>()]["warps"])
        if (warp["block"] == access["block"] && warp["warp"] == access["warp"])
            return warp["steps"].at(access["step"].get<std::size_t>());
    ADD_FAILURE() << "the warp is not on the page: " << access;
    return {};
}

// Checks that the access's step has the lane, the action and the line.
void expect_access(const json& page, const json& access, int thread, const std::string& action, const std::string& element,
                   int line) {
    SCOPED_TRACE(access.dump());
    EXPECT_EQ(access["thread"], thread);
    EXPECT_EQ(access["action"], action);
    EXPECT_EQ(access["element"], element);
    const json step = step_of(page, access);
    EXPECT_EQ(step["action"], action);
    EXPECT_NE(step["lanes"].get<unsigned>() >> access["lane"].get<int>() & 1, 0u);
    const json& launch = page["launches"][access["launch"].get<std::size_t>()];
    EXPECT_EQ(launch["sites"][step["site"].get<std::size_t>()]["line"], line);
}

TEST(LearnExplain, ARightAnswerIsExplainedLikeAKernelOfTheLibrary) {
    const Workplace here;
    ASSERT_EQ(here.run("learn start map").status, 0);
    here.write("heddle-learn/map.cu", answer_of("map/solution"));
    const ProgramResult result = here.run("learn explain");
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_THAT(result.err, HasSubstr("wrote heddle-learn/map.html"));
    EXPECT_THAT(result.out, HasSubstr("map: pass\n"));
    const std::string html = here.read("heddle-learn/map.html");
    expect_loads_nothing(html);
    EXPECT_LE(html.size(), 2u << 20);
    EXPECT_THAT(html, AllOf(HasSubstr("These are accesses, not times"), testing::Not(HasSubstr("Verdict:"))));

    const json page = explained(here, "map"), cost = checked(here, "map")["cost"];
    EXPECT_EQ(page["op"], "map");
    EXPECT_EQ(page["axes"], "n");
    EXPECT_EQ(page["shape"], json::parse("[1024]"));
    EXPECT_EQ(page["tensors"][0]["name"], "x");
    EXPECT_EQ(page["tensors"][1]["shape"], json::parse("[1024]"));
    EXPECT_EQ(page["sources"]["map.cu"], answer_of("map/solution"));
    EXPECT_FALSE(page.contains("finding"));
    ASSERT_EQ(page["launches"].size(), 1u);
    const json& launch = page["launches"][0];
    EXPECT_EQ(launch["totals"]["sectors"], cost["sectors"]) << "those of the run that the verdict is about";
    EXPECT_EQ(launch["sites"][0]["file"], "map.cu");
    EXPECT_EQ(launch["warps"].size(), 32u);
    for (const json& warp : launch["warps"])
        for (const json& step : warp["steps"]) EXPECT_EQ(step["values"].size(), 32u);
    EXPECT_THAT(here.read("heddle-learn/progress.json"), HasSubstr("\"checks\": 1,")) << "the check above, not the page";
}

// A barrier is missing: thread 91 writes tile[91] after thread 27 has added it.
TEST(LearnExplain, ARaceHasBothAccesses) {
    const Workplace here;
    const std::string file = put(here, "block-sum/wrong/no-first-barrier");
    const json page = explained(here, file), verdict = checked(here, file), &finding = page["finding"];
    EXPECT_EQ(finding["kind"], "race");
    EXPECT_EQ(finding["text"].get<std::string>(), "with n = 128: " + verdict["text"].get<std::string>());
    EXPECT_EQ(finding["line"], 7);
    EXPECT_EQ(finding["other_line"], 9);
    ASSERT_EQ(finding["accesses"].size(), 2u);
    expect_access(page, finding["accesses"][0], 27, "read", "tile[91]", 9);
    expect_access(page, finding["accesses"][1], 91, "write", "tile[91]", 7);
    EXPECT_EQ(finding["accesses"][1]["offset"], 4 * 91);
    EXPECT_EQ(page["launches"][0]["pieces"], json::parse(R"([{"name": "tile", "start": 0, "bytes": 512, "element_bytes": 4}])"));
    const json step = step_of(page, finding["accesses"][1]);
    const auto before = static_cast<std::size_t>(__builtin_popcount(step["lanes"].get<unsigned>() & ((1u << 27) - 1)));
    EXPECT_EQ(step["values"].at(before), "?") << "it was not made";

    const std::string both = put(here, "block-sum/wrong/all-threads-write");
    const json same_line = explained(here, both);
    ASSERT_EQ(same_line["finding"]["accesses"].size(), 2u);
    for (const json& access : same_line["finding"]["accesses"]) {
        EXPECT_EQ(access["element"], "sums[0]");
        EXPECT_EQ(access["action"], "write");
    }
    EXPECT_NE(same_line["finding"]["accesses"][0]["thread"], same_line["finding"]["accesses"][1]["thread"]);
}

TEST(LearnExplain, OtherMistakesHaveTheirAccess) {
    struct Case {
        std::string path, kind, action, element;
        std::size_t accesses;
    };
    const Workplace here;
    for (const Case& c :
         {Case{"guard/wrong/one-too-many", "bounds", "read", "x[1]", 1},
          Case{"unset-sums/starter", "uninitialised", "read", "", 1}, Case{"async-copy/wrong/never-waits", "copy", "read", "", 2},
          Case{"map/starter", "unwritten", "", "", 0}, Case{"map/wrong/strides", "cost", "", "", 0}}) {
        SCOPED_TRACE(c.path);
        const std::string file = put(here, c.path);
        const json page = explained(here, file), verdict = checked(here, file), &finding = page["finding"];
        EXPECT_EQ(finding["kind"], c.kind) << finding["text"];
        EXPECT_THAT(finding["text"].get<std::string>(), HasSubstr(verdict["text"].get<std::string>()))
            << "the same as of a check";
        EXPECT_EQ(finding["line"], verdict["line"]);
        ASSERT_EQ(finding["accesses"].size(), c.accesses) << finding;
        if (c.accesses == 0) continue;
        const json& last = finding["accesses"].back();
        EXPECT_EQ(last["action"], c.action);
        EXPECT_EQ(step_of(page, last)["action"], c.action);
        if (!c.element.empty()) {
            EXPECT_EQ(last["element"], c.element);
        }
    }
}

// The page has all that ran until the end, with and without accesses in the loop.
TEST(LearnExplain, APageOfALoopWithoutAnEnd) {
    const Workplace here;
    const auto body = [&](const std::string& text, const std::string& options) {
        here.write("guard.cu",
                   "#include <cstdlib>\n#include \"exercise.h\"\n__global__ void square(const float* x, float* y, int n) {\n"
                   "    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);\n    if (i < n) y[i] = x[i] * "
                   "x[i];\n    " +
                       text + "\n}\n");
        return explained(here, "guard.cu", options);
    };
    const json silent = body("for (volatile int k = 0; k >= 0;) k = 0;", " --seconds 1");
    EXPECT_EQ(silent["finding"]["kind"], "endless");
    EXPECT_EQ(silent["finding"]["line"], 6);
    ASSERT_EQ(silent["launches"].size(), 1u);
    EXPECT_EQ(silent["launches"][0]["totals"]["global_requests"], 2) << "one read and one write of the thread that runs first";
    EXPECT_EQ(silent["launches"][0]["sites"][0]["line"], 5);

    EXPECT_EQ(body("if (i == 3) abort();", "")["finding"]["kind"], "crash");

    const json busy = body("for (volatile int k = 0; k >= 0;) y[i] = x[i];", " --seconds 1 --out page.html");
    EXPECT_EQ(busy["finding"]["kind"], "endless");
    EXPECT_EQ(busy["launches"][0]["is_cut"], true);
    const std::string html = here.read("page.html");
    EXPECT_LE(html.size(), 2u << 20);
    EXPECT_THAT(html, AllOf(HasSubstr("Verdict: endless"), HasSubstr("\"is_cut\":true}"), HasSubstr("\"action\":\"write\"")))
        << "the first steps of a warp that is too long for the page";
}

TEST(LearnExplain, WhatDoesNotRunHasNoPage) {
    const Workplace here;
    here.write("map.cu", "#include \"exercise.h\"\nint number = \"text\";\n");
    const ProgramResult result = here.run("learn explain map.cu");
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.out, AllOf(HasSubstr("map: compile\n"), HasSubstr("      2 | int number = \"text\";")));
    EXPECT_THAT(result.err, HasSubstr("map.cu: no kernel ran, so there is nothing to show"));
    EXPECT_FALSE(here.exists("map.html"));
    here.write("map.html", "mine\n");
    expect_complaint(here.run("learn explain map.cu"), 1, "map.html");
    EXPECT_EQ(here.read("map.html"), "mine\n");
}

TEST(LearnExplain, AnOpOnTheTapeHasNoPage) {
    const Workplace here;
    here.write("product-rule.cpp", answer_of("product-rule/solution"));
    for (const char* options : {"", " --json"})
        expect_complaint(here.run("learn explain product-rule.cpp" + std::string(options)), 2,
                         "product-rule is an op on the tape and has no kernel to show");
    EXPECT_FALSE(here.exists("product-rule.html"));
}

constexpr const char* kProbe = R"(
const place = document.getElementById('explain'), all = name => [...place.querySelectorAll(name)];
const lines = () => all('.source .wrong').map(line => Number(line.dataset.n));
seen = {cards: all('.access').map(card => card.innerText), arrows: all('.arrow svg').length, lines: lines(),
        element: place.querySelector('.element').innerText, now: place.querySelector('.now').textContent,
        here: Number(place.querySelector('.here').dataset.n), lane: all('.lanes .wrong').map(one => parseInt(one.textContent)),
        wide: document.documentElement.scrollWidth, verdict: document.querySelector('h2').textContent};
all('.access button')[0].click();
seen.earlier = {here: Number(place.querySelector('.here').dataset.n), now: place.querySelector('.now').textContent,
                current: all('.access').map(card => card.classList.contains('shown'))};
)";

TEST(LearnExplain, ThePageShowsARaceAsTwoArrowsOnOneElement) {
    if (!has_program("chromium")) GTEST_SKIP() << "chromium is missing: the page was not opened";
    const Workplace here;
    ASSERT_EQ(here.run("learn explain " + put(here, "block-sum/wrong/no-first-barrier")).status, 0);
    for (const int width : {1280, 500}) {  // Chromium's windows have at least this width; the layout for 400 is that for 500
        SCOPED_TRACE(width);
        const json seen = seen_on(here.read("block-sum.html"), kProbe, fmt::format("--window-size={},900", width));
        ASSERT_TRUE(seen.is_object()) << seen;
        EXPECT_EQ(seen["verdict"], "Verdict: race");
        EXPECT_EQ(seen["arrows"], 2);
        ASSERT_EQ(seen["cards"].size(), 2u);
        EXPECT_THAT(seen["cards"][0].get<std::string>(),
                    AllOf(HasSubstr("thread 27 of block 0"), HasSubstr("reads tile[91]"), HasSubstr("9 | if (t < stride)")));
        EXPECT_THAT(seen["cards"][1].get<std::string>(),
                    AllOf(HasSubstr("thread 91 of block 0"), HasSubstr("writes tile[91]"), HasSubstr("7 | tile[t] = i < n")));
        EXPECT_THAT(seen["element"].get<std::string>(), AllOf(HasSubstr("tile[91]"), HasSubstr("byte 364, bank 27")));
        EXPECT_EQ(seen["lines"], json::parse("[7, 9]"));
        EXPECT_EQ(seen["here"], 7) << "the page begins where it happened";
        EXPECT_EQ(seen["lane"], json::parse("[27]"));
        EXPECT_THAT(seen["now"].get<std::string>(), HasSubstr("Lane 27 writes tile[91]: access 2 of the race."));
        EXPECT_EQ(seen["earlier"]["here"], 9);
        EXPECT_THAT(seen["earlier"]["now"].get<std::string>(), HasSubstr("Lane 27 reads tile[91]: access 1 of the race."));
        EXPECT_EQ(seen["earlier"]["current"], json::parse("[true, false]"));
        EXPECT_LE(seen["wide"], width) << "nothing sticks out";
    }
}

TEST(LearnExplain, ThePageShowsAnAccessPastTheEnd) {
    if (!has_program("chromium")) GTEST_SKIP() << "chromium is missing: the page was not opened";
    const Workplace here;
    ASSERT_EQ(here.run("learn explain " + put(here, "guard/wrong/one-too-many")).status, 0);
    const json seen = seen_on(here.read("guard.html"), kProbe);
    ASSERT_TRUE(seen.is_object()) << seen;
    EXPECT_EQ(seen["verdict"], "Verdict: bounds");
    EXPECT_EQ(seen["arrows"], 1);
    EXPECT_THAT(seen["element"].get<std::string>(), HasSubstr("x[1]"));
    EXPECT_EQ(seen["lines"], json::parse("[6]"));
    EXPECT_THAT(seen["now"].get<std::string>(), HasSubstr("reads x[1]: access of the verdict."));
}

// heddle explain FILE.cu

constexpr const char* kReverse = R"(__global__ void reverse(int* x) {
    __shared__ int tile[64];
    tile[threadIdx.x] = x[threadIdx.x];
    x[threadIdx.x] = tile[63 - threadIdx.x];
}
int main() {
    int *numbers, host[64];
    cudaMalloc((void**)&numbers, sizeof host);
    for (int i = 0; i < 64; ++i) host[i] = i;
    cudaMemcpy(numbers, host, sizeof host, cudaMemcpyHostToDevice);
    reverse<<<1, 64>>>(numbers);
    puts("done");
    return cudaDeviceSynchronize();
}
)";

const json& step_at(const json& launch, const std::string& action, int line) {
    static const json none;
    for (const json& warp : launch["warps"])
        for (const json& step : warp["steps"])
            if (step["action"] == action && launch["sites"][step["site"].get<std::size_t>()]["line"] == line) return step;
    ADD_FAILURE() << "no " << action << " in line " << line;
    return none;
}

TEST(ExplainFile, ShowsAKernelOfOnesOwnWithItsRace) {
    const Workplace here;
    here.write("reverse.cu", kReverse);
    const ProgramResult result = here.run("explain reverse.cu --json");
    ASSERT_EQ(result.status, 0) << result.err;
    EXPECT_THAT(result.err,
                AllOf(HasSubstr("reverse.cu:3: race: kernel reverse"), HasSubstr("heddle explain: 1 violation (race)")));
    const json page = json::parse(result.out, nullptr, false);
    ASSERT_TRUE(page.is_object()) << result.out;
    EXPECT_EQ(page["tensors"], json::parse(R"([{"name": "numbers", "shape": [64], "dtype": "i32", "element_bytes": 4}])"));
    EXPECT_EQ(page["sources"]["reverse.cu"], kReverse);
    ASSERT_EQ(page["launches"].size(), 1u);
    const json& launch = page["launches"][0];
    EXPECT_EQ(launch["kernel"], "reverse");
    EXPECT_EQ(launch["pieces"][0]["name"], "tile");
    const json& read = step_at(launch, "read", 3);
    EXPECT_EQ(read["tensor"], 0);
    const int first = read["offset"].get<int>() / 4;
    for (int lane = 0; lane < 32; ++lane) EXPECT_EQ(read["values"][lane], std::to_string(first + lane));

    const json& finding = page["finding"];
    EXPECT_EQ(finding["kind"], "race");
    EXPECT_EQ(finding["file"], "reverse.cu");
    const json& accesses = finding["accesses"];
    ASSERT_EQ(accesses.size(), 2u) << finding;
    EXPECT_EQ(accesses[0]["element"], accesses[1]["element"]);
    EXPECT_EQ(finding["line"].get<int>() + finding["other_line"].get<int>(), 3 + 4);
    for (const std::size_t i : {0u, 1u}) {
        const int line = finding[i == 0 ? "other_line" : "line"].get<int>();
        const int thread = accesses[i]["thread"].get<int>();
        const std::string element = "tile[" + std::to_string(line == 3 ? thread : 63 - thread) + "]";
        expect_access(page, accesses[i], thread, line == 3 ? "write" : "read", element, line);
        EXPECT_FALSE(step_of(page, accesses[i])["values"].dump().find('?') != std::string::npos)
            << "the launch went on, so the access has a value";
    }
}

TEST(ExplainFile, LaunchesAKernelOfAFileWithoutMain) {
    const Workplace here;
    here.write("saxpy.cu",
               "__global__ void saxpy(int n, float a, const float* x, float* y) {\n"
               "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
               "    if (i < n) y[i] += a * x[i];\n}\n");
    const std::string words =
        "explain saxpy.cu --kernel saxpy --block 64 --arg n=40 --arg a=2 --arg 'x=f32[40]:iota' --arg y=f32[40]:zeros";
    const ProgramResult result = here.run(words);
    ASSERT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.err, "heddle explain: no violation in 3 orders, 1 kernel, 1 launch\nwrote saxpy.html\n");
    EXPECT_THAT(result.out,
                AllOf(HasSubstr("heddle explain saxpy.cu --kernel saxpy --block 64 --arg n=40"), HasSubstr("saxpy.cu:3")));
    EXPECT_THAT(here.read("saxpy.html"), AllOf(HasSubstr("y[i] += a * x[i];"), testing::Not(HasSubstr("Verdict"))));
    const json page = json::parse(here.run(words + " --json").out, nullptr, false);
    ASSERT_TRUE(page.is_object());
    EXPECT_EQ(page["tensors"][0]["name"], "x");
    EXPECT_EQ(page["tensors"][1]["name"], "y");
    EXPECT_FALSE(page.contains("finding"));
    const json& write = step_at(page["launches"][0], "write", 3);
    EXPECT_EQ(write["values"].size(), write["offset"] == 0 ? 32u : 8u);
    for (std::size_t lane = 0; lane < write["values"].size(); ++lane)
        EXPECT_EQ(write["values"][lane], std::to_string(2 * (write["offset"].get<std::size_t>() / 4 + lane)));

    const ProgramResult refused = here.run("explain saxpy.cu --kernel saxpy --json");
    EXPECT_EQ(refused.status, 2);
    EXPECT_THAT(refused.err, HasSubstr("heddle explain: kernel saxpy has a parameter int n without a value"));
    here.write("saxpy.html", "mine");
    expect_complaint(here.run(words), 1, "saxpy.html");
}

TEST(ExplainFile, KeepsTheFirstLaunchesAndTheOneThatIsWrong) {
    const Workplace here;
    here.write("many.cu",
               "__global__ void fill(float* x, int wrong) {\n"
               "    x[wrong ? 0 : threadIdx.x] = threadIdx.x;\n}\n"
               "int main(int count, char**) {\n"
               "    float* x;\n    cudaMalloc(&x, 128);\n"
               "    for (int i = 0; i < 10 && count == 1; ++i) fill<<<1, 32>>>(x, i >= 6);\n"
               "    return cudaDeviceSynchronize();\n}\n");
    const ProgramResult result = here.run("explain many.cu --launches 2 --json");
    ASSERT_EQ(result.status, 0) << result.err;
    EXPECT_THAT(result.err, HasSubstr("3 of 10 launches are shown; --launches N takes more\n"));
    const json page = json::parse(result.out, nullptr, false);
    ASSERT_EQ(page["launches"].size(), 3u);
    ASSERT_EQ(page["finding"]["accesses"].size(), 2u);
    for (const json& access : page["finding"]["accesses"]) {
        EXPECT_EQ(access["launch"], 2);
        EXPECT_EQ(access["element"], "x[0]");
    }
    const ProgramResult idle = here.run("explain many.cu -- 1");
    EXPECT_EQ(idle.status, 1);
    EXPECT_THAT(idle.err, HasSubstr("many.cu: no kernel ran, so there is nothing to show\n"));
    EXPECT_FALSE(here.exists("many.html"));
}

}  // namespace
}  // namespace heddle
