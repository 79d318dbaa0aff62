// The parts of `heddle check` that need no compiler: command lines, findings, results, the heads of GPUVerify's files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include <nlohmann/json.hpp>

#include "kernels/emulator/frontend/check.h"
#include "kernels/emulator/frontend/gpuverify.h"
#include "kernels/emulator/frontend/process.h"
#include "kernels/emulator/frontend/report.h"
#include "tests/support.h"

namespace heddle::emulator::frontend {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

ViolationRecord race(int line, int other_line) {
    ViolationRecord record;
    record.kind = "race";
    record.id = 1;
    record.kernel = "k";
    record.block = "(0, 0, 0)";
    record.thread = "(1, 0, 0)";
    record.verb = "reads";
    record.file = record.other_file = "a.cu";
    record.line = line;
    record.other_line = other_line;
    record.other_thread = "thread (2, 0, 0)";
    record.other_verb = "wrote";
    record.between = "no barrier between the two";
    record.text = "a race";
    record.seed = 3;
    return record;
}

TEST(CheckArguments, WordsOfTheCompilerAndOfTheProgramAreTakenOut) {
    Settings settings;
    EXPECT_THAT(without_compiler_options({"a.cu", "-I", "inc", "-DN=3", "--orders", "2", "-lm", "-L", "lib", "-O2", "-std=c++17",
                                          "-include", "x.h", "b.cu", "--", "-D", "--", "c"},
                                         settings),
                ElementsAre("a.cu", "--orders", "2", "b.cu"));
    EXPECT_THAT(settings.compile_options, ElementsAre("-Iinc", "-DN=3", "-O2", "-std=c++17", "-include", "x.h"));
    EXPECT_THAT(settings.link_options, ElementsAre("-lm", "-Llib"));
    EXPECT_THAT(settings.program_arguments, ElementsAre("-D", "--", "c"));
    EXPECT_THROW(without_compiler_options({"a.cu", "-I"}, settings), Refused);
    EXPECT_THAT(without_compiler_options({"-lineinfo", "a.cu"}, settings), ElementsAre("a.cu"));
    EXPECT_THAT(settings.link_options, ElementsAre("-lm", "-Llib"));
}

TEST(CheckArguments, TheStandAloneProgramHasTheSameOptions) {
    Settings settings;
    EXPECT_TRUE(
        read_arguments({"--orders=5", "a.cu", "--leaks", "--arg", "n=1", "--arg", "x=f32[2]", "--seconds", "90"}, settings));
    EXPECT_THAT(settings.sources, ElementsAre("a.cu"));
    EXPECT_EQ(settings.orders, 5);
    EXPECT_TRUE(settings.leaks);
    EXPECT_THAT(settings.arguments, ElementsAre("n=1", "x=f32[2]"));
    EXPECT_EQ(settings.total_seconds, 90);
    for (const std::vector<std::string>& wrong : std::vector<std::vector<std::string>>{{},
                                                                                       {"a.cu", "--no"},
                                                                                       {"a.cu", "--orders", "none"},
                                                                                       {"a.cu", "--orders"},
                                                                                       {"a.cu", "--orders", "1001"},
                                                                                       {"a.cu", "--seconds=0"},
                                                                                       {"a.cu", "--leaks=1"},
                                                                                       {"a.cu", "--chip=sm_70"}}) {
        Settings none;
        EXPECT_THROW(read_arguments(wrong, none), Refused);
    }
}

TEST(CheckFindings, OneViolationOfSeveralOrdersAndLaunchesIsCounted) {
    Findings findings;
    ASSERT_NE(findings.add(race(7, 6), 1), nullptr);
    EXPECT_EQ(findings.add(race(6, 7), 2), nullptr) << "in another order the earlier access is the later one";
    ViolationRecord again;
    again.kind = "again";
    again.id = 1;
    EXPECT_EQ(findings.add(again, 2), nullptr);
    EXPECT_NE(findings.add(race(7, 5), 2), nullptr);
    ViolationRecord note = race(9, 0);
    note.kind = "portability";
    note.note = true;
    EXPECT_NE(findings.add(note, 2), nullptr);
    ASSERT_EQ(findings.all().size(), 3u);
    Findings of_values;
    ViolationRecord same = race(7, 6);
    same.same_value = true;
    EXPECT_NE(of_values.add(same, 1), nullptr);
    EXPECT_NE(of_values.add(race(7, 6), 2), nullptr) << "writes of different values are worse, and told, too";
    EXPECT_THAT(findings.all()[0].orders, ElementsAre(1, 2));
    EXPECT_EQ(findings.all()[0].occurrences, 3u);
    EXPECT_EQ(findings.violations(), 2u);
    EXPECT_EQ(findings.kinds(), "race");
}

TEST(CheckOutcome, TheVerdictSaysWhatDecidedAndTheStatusFollows) {
    Outcome outcome;
    outcome.orders = 3;
    ViolationRecord launched;
    launched.kind = "launched";
    launched.kernel = "k";
    launched.cost.launches = 12;
    for (const int order : {1, 2, 3}) outcome.findings.add(launched, order);
    EXPECT_EQ(outcome.verdict(), "no violation in 3 orders, 1 kernel, 12 launches");
    EXPECT_EQ(outcome.status(), 0);
    outcome.failure = "it returned 5";
    EXPECT_EQ(outcome.verdict(), "no violation in 3 orders, 1 kernel, 12 launches; but the program failed: it returned 5");
    EXPECT_EQ(outcome.status(), 1);
    outcome.findings.add(race(7, 6), 1);
    EXPECT_THAT(outcome.verdict(), StartsWith("1 violation (race) in 3 orders"));
    EXPECT_EQ(outcome.status(), 3);
}

TEST(CheckReport, BothLinesAreQuoted) {
    const TemporaryFolder folder;
    const std::string file = (folder.path() / "a.cu").string();
    std::ofstream(file) << "one\n\ttwo;  \n  three\n";
    EXPECT_EQ(quoted_line(file, 2), "      2 |     two;\n        |     ^~~~\n");
    EXPECT_EQ(source_line(file, 3), "three");
    EXPECT_EQ(quoted_line(file, 9), "");
    EXPECT_EQ(quoted_line(folder.path().string(), 1), "") << "a folder";
    ViolationRecord record = race(3, 2);
    record.file = record.other_file = file;
    Findings findings;
    const std::string text = report_of(*findings.add(record, 1));
    EXPECT_THAT(text, HasSubstr(file + ":3: race: kernel k, block (0, 0, 0), thread (1, 0, 0) reads\n      3 |   three\n"));
    EXPECT_THAT(text, HasSubstr(file + ":2: thread (2, 0, 0) wrote\n      2 |     two;\n"));
    EXPECT_THAT(text, HasSubstr("no barrier between the two"));
    EXPECT_EQ(with_quotes(file + ":3: error: wrong\nnote\n"),
              file + ":3: error: wrong\n      3 |   three\n        |   ^~~~~\nnote\n");
}

TEST(CheckReport, TheTableOfCostsNamesTheLineThatWastesMost) {
    Findings findings;
    ViolationRecord cost = race(4, 0), line = race(4, 0);  // a kernel's own line is the one that wastes most
    cost.kind = "cost";
    line.kind = "cost-line";
    cost.cost = {
        .launches = 2, .accesses = 10, .divergent = 5, .bytes = 320, .sectors = 80, .least_sectors = 20, .shared_accesses = 0};
    line.cost = cost.cost;
    findings.add(cost, 1);
    findings.add(line, 1);
    findings.add(cost, 2);
    EXPECT_EQ(findings.violations(), 0u);
    ASSERT_EQ(findings.costs().size(), 1u);
    const std::string table = cost_table(findings.costs());
    EXPECT_THAT(table, HasSubstr("25 %"));
    EXPECT_THAT(table, HasSubstr("50 %"));
    EXPECT_THAT(table, HasSubstr("k wastes most at a.cu:4: 80 sectors, where 20 would do"));
    EXPECT_EQ(cost_table({}), "");
}

TEST(CheckResults, TextsOfAnyBytesStayJson) {
    Outcome outcome;
    ViolationRecord record = race(3, 2);
    record.text = "a \"quote\" \\ \n \x01 \xc3\xa4 \xff\xe2\x82";
    record.file = "a b#\xc3\xa4.cu";
    outcome.findings.add(record, 1);
    const nlohmann::json results = nlohmann::json::parse(json_of(outcome, Settings()));
    EXPECT_EQ(results["violations"][0]["text"], "a \"quote\" \\ \n \x01 \xc3\xa4 \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    const nlohmann::json log = nlohmann::json::parse(sarif_of(outcome));
    const nlohmann::json& result = log["runs"][0]["results"][0];
    EXPECT_EQ(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "a%20b%23%C3%A4.cu");
    EXPECT_EQ(result["relatedLocations"][0]["physicalLocation"]["region"]["startLine"], 2);
}

TEST(CheckProcess, AToolsOutputAndStatusAreTaken) {
    const ToolRun run =
        run_tool({"sh", "-c", "echo out; echo err >&2; head -c 300000 /dev/zero; exit 4"}, {std::chrono::seconds(20)});
    EXPECT_EQ(run.ended.status, 4);
    EXPECT_EQ(run.output.size(), 300004u);
    EXPECT_EQ(run.errors, "err\n");
    EXPECT_TRUE(run_tool({"sleep", "60"}, {std::chrono::milliseconds(100)}).ended.too_long);
    EXPECT_EQ(run_tool({"sh", "-c", "kill -9 $$"}, {std::chrono::seconds(20)}).ended.signal, 9);
    EXPECT_THROW(run_tool({"/no/such/program"}, {std::chrono::seconds(1)}), std::runtime_error);
}

TEST(CheckGpuverify, TheFirstLinesSayWhatIsExpected) {
    const TemporaryFolder folder;
    const std::string file = (folder.path() / "kernel.cu").string();
    const auto head = [&](const std::string& text) {
        std::ofstream(file) << text;
        return read_expectation(file);
    };
    const Expectation pass = head("//pass\r\n//--blockDim=[64,64,2] --gridDim=[4,5] -DWIDTH=256 --no-inline\n");
    EXPECT_TRUE(pass.passes);
    EXPECT_THAT(pass.grid, ElementsAre(4, 5));
    EXPECT_LE(pass.block[0] * pass.block[1] * pass.block[2], 1024u) << "a block of GPUVerify's that no chip has";
    EXPECT_THAT(pass.compile_options, ElementsAre("-DWIDTH=256"));
    EXPECT_FALSE(head("//XFAIL:NOT_ALL_VERIFIED\n//--blockDim=8 --gridDim=1\n").passes);
    EXPECT_TRUE(head("//pass\n//--gridDim=1 --blockDim=2 --only-divergence\n").only_barriers);
    EXPECT_THROW(head("//xfail:BUGLE_ERROR\n//--blockDim=8\n"), Refused);
    EXPECT_THROW(head("//pass\n//--blockDim=32 --warp-sync=32\n"), Refused);
    EXPECT_THROW(head("//pass\n//--blockDim=many\n"), Refused);
    EXPECT_THROW(head("int main() {}\n"), Refused);
}

// A draw whose kernel did not run, or not to its end, shows nothing: it is no pass.
TEST(CheckGpuverify, ALaunchThatWasCutOffIsNoPass) {
    const auto meaning = [](const char* kind, const char* text = "", bool note = false, bool only_barriers = false) {
        ViolationRecord record = race(1, 2);
        record.kind = kind;
        record.text = text;
        record.note = note;
        Expectation expectation;
        expectation.only_barriers = only_barriers;
        return meaning_of(record, expectation);
    };
    for (const char* const kind : {"bad-launch", "no-progress", "stack-overflow", "fault", "api", "misaligned", "collective",
                                   "stream-race", "host-access", "out-of-bounds"})
        EXPECT_EQ(meaning(kind), Meaning::cut) << kind;
    EXPECT_EQ(meaning("out-of-time", "", true), Meaning::cut);
    for (const char* const kind : {"race", "assert", "barrier", "deadlock"}) EXPECT_EQ(meaning(kind), Meaning::error) << kind;
    EXPECT_EQ(meaning("portability", "thread (3, 0, 0) has left the kernel", true), Meaning::error);
    EXPECT_EQ(meaning("portability", "a plain read beside atomic updates", true), Meaning::nothing);
    EXPECT_EQ(meaning("out-of-bounds", "writes 4 bytes of host memory"), Meaning::error);
    EXPECT_EQ(meaning("out-of-bounds", "writes 4 bytes of constant memory"), Meaning::error);
    EXPECT_EQ(meaning("out-of-bounds", "writes 4 bytes, 4 bytes past the end of the variable `c` of 0 bytes"), Meaning::error);
    EXPECT_EQ(meaning("assert", "a precondition of GPUVerify, `n > 0', does not hold"), Meaning::unmet);
    EXPECT_EQ(meaning("uninitialized"), Meaning::nothing);
    EXPECT_EQ(meaning("race", "", false, true), Meaning::nothing) << "--only-divergence";
    EXPECT_EQ(meaning("barrier", "", false, true), Meaning::error);
    ViolationRecord same = race(1, 2);
    same.same_value = true;
    EXPECT_EQ(meaning_of(same, {}), Meaning::same);
}

TEST(CheckGpuverify, NumbersThatTheFileComparesWithAreDrawn) {
    SourceUnit unit{"k.cu"};
    unit.preprocessed =
        "# 1 \"other.h\"\nint f(int a) { return a == 77; }\n# 1 \"k.cu\"\n"
        "void k(float* A, int x, unsigned a, float s) {\n    holds(a == 12) ? 0 : unmet(\"a == 12\", __func__, \"k.cu\", 2);\n"
        "    if (i == 15) A[i + x] = 1 << 9;\n    if (200 <= i) A[i] = 300;\n}\n";
    unit.rewritten.kernels = {{"k", {{"float*", "A"}, {"int", "x"}, {"unsigned", "a"}, {"float", "s"}}, "k.cu", 1, false}};
    const std::vector<Draw> draws = draws_of(unit);
    std::vector<long long> values;
    for (const Draw& draw : draws) {
        ASSERT_FALSE(draw.chosen.empty());
        EXPECT_EQ(draw.chosen[0].name + std::to_string(draw.chosen[0].value), "a12") << "required in every draw";
        if (draw.chosen.size() == 1) continue;
        EXPECT_EQ(draw.chosen[1].name, "x");
        EXPECT_EQ(draw.chosen[1].index, 1);
        values.push_back(draw.chosen[1].value);
    }
    EXPECT_THAT(values, AllOf(Contains(15), Contains(200), Contains(185), Contains(215), Contains(14)));
    EXPECT_THAT(values, AllOf(Not(Contains(77)), Not(Contains(9)), Not(Contains(300))));
    EXPECT_EQ(draws.size(), values.size() + 3);
}

}  // namespace
}  // namespace heddle::emulator::frontend
