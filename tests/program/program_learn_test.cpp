// `heddle learn`: every solution passes, every starter and every wrong answer gets its verdict; and the command's messages.
//
// Every eighth wrong answer of an exercise is checked, beginning with another one each day or with that of HEDDLE_TEST_START, and
// with HEDDLE_TEST_ALL=1 all of them: compiling one takes most of a second.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "tests/documents.h"
#include "tests/learn_answers.h"
#include "tests/program.h"
#include "tests/program/program_process.h"
#include "tests/shell.h"

namespace heddle {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

std::vector<std::string> names() {
    std::vector<std::string> all;
    for (const learn::ExercisePage& page : learn::exercise_pages()) all.push_back(page.name);
    return all;
}

// A verdict of the table: "race line 7 and 9: without a barrier".
struct Expected {
    std::string kind, words;
    int line = -1, other_line = -1;  // -1: any
};

Expected expected_of(const WrongAnswer& wrong) {
    static const std::regex form(R"((\w+)(?: line (\d+)(?: and (\d+))?)?(?:: (.+))?)");
    std::smatch found;
    if (!std::regex_match(wrong.verdict, found, form)) ADD_FAILURE() << wrong.name << ": not a verdict: " << wrong.verdict;
    const auto number = [&](std::size_t group) { return found[group].matched ? std::stoi(found[group]) : -1; };
    return {.kind = found[1], .words = found[4], .line = number(2), .other_line = number(3)};
}

class Learn : public testing::TestWithParam<std::string> {
  protected:
    const learn::ExercisePage& page() const { return exercise_page(GetParam()); }
    json checked_text(const Workplace& here, const std::string& name, const std::string& text, const std::string& options = "") {
        here.write(name + page().extension(), text);
        return checked(here, GetParam(), here.path(name + page().extension()), options);
    }
};

TEST_P(Learn, TheSolutionPassesAndTheStarterDoesNot) {
    const Workplace here;
    const json verdict = checked_text(here, "solution", page().solution);
    EXPECT_EQ(verdict["kind"], "pass") << verdict;
    std::smatch head;
    const std::string text = project_file("apps/learn/exercises/" + GetParam() + ".md");
    ASSERT_TRUE(std::regex_search(text, head, std::regex("starter ([a-z]+) -->")));
    const json starter = checked_text(here, "starter", page().starter);
    EXPECT_EQ(starter["kind"], head[1].str()) << starter;
}

TEST_P(Learn, WrongAnswersGetTheirVerdict) {
    const Workplace here;
    const std::vector<WrongAnswer> answers = wrong_answers(GetParam());
    const std::size_t step = std::getenv("HEDDLE_TEST_ALL") != nullptr ? 1 : std::min<std::size_t>(8, answers.size());
    const char* const given = std::getenv("HEDDLE_TEST_START");
    const auto start = given != nullptr
                           ? std::stoul(given)
                           : static_cast<std::size_t>(std::chrono::system_clock::now().time_since_epoch() / std::chrono::days(1));
    for (std::size_t i = start % step; i < answers.size(); i += step) {
        const Expected expected = expected_of(answers[i]);
        SCOPED_TRACE(answers[i].name + "; again with HEDDLE_TEST_START=" + std::to_string(i));
        const json verdict = checked_text(here, answers[i].name, answers[i].text, expected.kind == "endless" ? short_time : "");
        EXPECT_EQ(verdict["kind"], expected.kind) << verdict;
        if (expected.line >= 0) {
            EXPECT_EQ(verdict["line"], expected.line) << verdict;
        }
        if (expected.other_line >= 0) {
            EXPECT_EQ(verdict["other_line"], expected.other_line) << verdict;
        }
        EXPECT_THAT(verdict["text"].get<std::string>(), HasSubstr(expected.words));
    }
}

TEST_P(Learn, AnExerciseIsWhole) {
    std::set<std::string> names;
    const std::vector<WrongAnswer> answers = wrong_answers(GetParam());
    EXPECT_GE(answers.size(), 5u);
    for (const WrongAnswer& wrong : answers) {
        EXPECT_NE(expected_of(wrong).kind, "pass") << wrong.name;
        EXPECT_NE(wrong.text, page().solution) << wrong.name;
        EXPECT_TRUE(names.insert(wrong.name).second) << wrong.name << " stands there twice";
    }
    const std::string text = project_file("apps/learn/exercises/" + GetParam() + ".md");
    EXPECT_THAT(text,
                AllOf(HasSubstr("\n## The idea\n"), HasSubstr("\n## What to write\n"), HasSubstr("\n## exercise.h\n\n```cpp\n"),
                      HasSubstr("\n## Hints\n\n1. "), HasSubstr("\n2. "), HasSubstr("\n3. "), HasSubstr(page().file_name())));
    EXPECT_THAT(page().starter, AllOf(HasSubstr("Exercise " + GetParam() + ":"), Not(HasSubstr("STARTER"))));
    EXPECT_THAT(page().solution, Not(AnyOf(HasSubstr("Exercise " + GetParam() + ":"), HasSubstr("STARTER"))));
}

TEST(LearnAnswers, TheStarterAndTheSolutionAreCutFromOneText) {
    const std::string text = "//: To do\na\n#ifndef STARTER\nb\nc\n#else\nd\n#endif\n\n#ifndef STARTER\ne\n#endif\nf\n";
    EXPECT_EQ(learn::cut(text, true), "// To do\na\nd\n\nf\n");
    EXPECT_EQ(learn::cut(text, false), "a\nb\nc\n\ne\nf\n");
}

TEST(LearnAnswers, WrongAnswersAreChangesOfTheSolution) {
    const std::string table = "== other\nno-a: race\n  a =>\n== it\nno-b: values line 2: 3\n  [2] b =>\n  c\n  => d e\n== last\n";
    const std::vector<WrongAnswer> answers = wrong_answers_in(table, "it", "a\nb\n  b\nc\n");
    ASSERT_EQ(answers.size(), 1u);
    EXPECT_EQ(answers[0].name, "no-b");
    EXPECT_EQ(answers[0].verdict, "values line 2: 3");
    EXPECT_EQ(answers[0].text, "a\nb\nd e\n");
    expect_error([&] { changed("a\nb\nb\n", "b => c", "one"); }, "one: this stands there more than once: b");
    expect_error([&] { changed("a\n", "b =>", "one"); }, "one: this stands there nowhere: b");
    EXPECT_THAT(project_file("tests/program/wrong_answers.txt"), HasSubstr(fenced_blocks("docs/learn.md", "diff").at(0)));
}

INSTANTIATE_TEST_SUITE_P(Exercises, Learn, testing::ValuesIn(names()), [](const testing::TestParamInfo<std::string>& info) {
    return std::regex_replace(info.param, std::regex("-"), "_");
});

TEST(LearnCommand, ALearnerStartsChecksAndPasses) {
    const Workplace here;
    EXPECT_THAT(here.run("learn").out,
                HasSubstr("0 of " + std::to_string(names().size()) + " passed; next: heddle learn start map"));
    ASSERT_EQ(here.run("learn start map").status, 0);
    EXPECT_THAT(here.read("heddle-learn/map.md"),
                AllOf(HasSubstr("# One thread"), Not(HasSubstr("## Hints")), Not(HasSubstr("<!--"))));

    const ProgramResult first = here.run("learn check");
    EXPECT_EQ(first.status, 1);
    EXPECT_THAT(first.out, AllOf(HasSubstr("map: unwritten\n"), HasSubstr("y[0] was never written")));
    EXPECT_THAT(here.run("learn").out, HasSubstr("1 check "));

    here.write("heddle-learn/map.cu", answer_of("map/wrong/strides"));
    expect_complaint(here.run("learn start map"), 1, "heddle-learn/map.cu exists already and was left as it is");
    EXPECT_EQ(here.read("heddle-learn/map.cu"), answer_of("map/wrong/strides"));
    EXPECT_THAT(here.run("learn check map").out, AllOf(HasSubstr("map: cost\n"), HasSubstr("      6 |     y[i] = a * x[i];\n")));

    EXPECT_THAT(here.run("learn hint").out, AllOf(HasSubstr("1. "), Not(HasSubstr("2. "))));
    EXPECT_THAT(here.run("learn hint map").out, AllOf(testing::StartsWith("2. "), Not(HasSubstr("1. "))));
    EXPECT_EQ(here.run("learn solution").status, 1);
    EXPECT_EQ(here.run("learn solution map").out, answer_of("map/solution")) << "asked twice";

    here.write("heddle-learn/map.cu", answer_of("map/solution"));
    const ProgramResult passed = here.run("learn watch map");  // ends when the answer passes
    EXPECT_EQ(passed.status, 0);
    EXPECT_THAT(passed.out, AllOf(HasSubstr("map: pass\n"), HasSubstr("next: heddle learn start guard")));
    const json list = json::parse(here.run("learn list --json").out);
    EXPECT_EQ(list[0]["exercise"], "map");
    EXPECT_EQ(list[0]["passed"], true);
    EXPECT_EQ(list[0]["checks"], 3);
    EXPECT_EQ(list[0]["hints"], 2);
    EXPECT_EQ(list[1]["passed"], false);
}

// Also one that has passed.
TEST(LearnCommand, WhatWasEditedLastIsChecked) {
    const Workplace here;
    for (const char* name : {"map", "guard"}) ASSERT_EQ(here.run(std::string("learn start ") + name).status, 0);
    const auto edit = [&](const std::string& name, const std::string& answer, int minute) {
        here.write("heddle-learn/" + name + ".cu", answer_of(answer));
        const auto time = std::filesystem::file_time_type::clock::now() - std::chrono::minutes(10 - minute);
        std::filesystem::last_write_time(here.path("heddle-learn/" + name + ".cu"), time);
    };
    edit("map", "map/solution", 2);
    edit("guard", "guard/solution", 1);
    EXPECT_THAT(here.run("learn check").out, HasSubstr("map: pass\n"));
    EXPECT_THAT(here.run("learn check").out, HasSubstr("map: pass\n")) << "again";
    edit("guard", "guard/solution", 3);
    EXPECT_THAT(here.run("learn check").out, HasSubstr("guard: pass\n"));
    edit("map", "map/wrong/strides", 4);
    EXPECT_THAT(here.run("learn check").out, HasSubstr("map: cost\n"));
}

TEST(LearnCommand, AFolderOfALearnerIsUsedFromInside) {
    const Workplace here;
    ASSERT_EQ(here.run("learn start map --folder .").status, 0);
    EXPECT_TRUE(here.exists("map.cu"));
    ASSERT_EQ(here.run("learn start guard").status, 0);
    EXPECT_TRUE(here.exists("guard.cu")) << "progress.json marks the folder";
}

TEST(LearnCommand, AnOpOnTheTapeIsACppFile) {
    const Workplace here;
    EXPECT_THAT(here.run("learn start product-rule").out, HasSubstr("edit heddle-learn/product-rule.cpp"));
    EXPECT_EQ(here.read("heddle-learn/product-rule.cpp"), answer_of("product-rule/starter"));
    here.write("heddle-learn/product-rule.cpp", answer_of("product-rule/wrong/own-factor"));
    EXPECT_THAT(here.run("learn check").out, AllOf(HasSubstr("product-rule: gradient\n"), HasSubstr("     16 |"),
                                                   HasSubstr("g.give(0, times(g.output(), g.saved(0)));")));
    EXPECT_EQ(here.run("learn solution").status, 1);
    EXPECT_EQ(here.run("learn solution").out, answer_of("product-rule/solution")) << "asked twice";
    here.write("heddle-learn/product-rule.cpp", answer_of("product-rule/solution"));
    EXPECT_THAT(here.run("learn check").out,
                AllOf(HasSubstr("product-rule: pass\n    the result and all gradients are right; "), Not(HasSubstr("sectors"))));
}

TEST(LearnCommand, AGradientCheckShowsWhatItPrintedLast) {
    const Workplace here;
    here.write("own-gradcheck.cpp",
               "#include \"exercise.h\"\n#include <cstdio>\n"
               "bool gradient_is_right(const Function&, const std::vector<Tensor>&) {\n"
               "    static int calls = 0;\n    std::printf(\"function %d\\n\", ++calls);\n    return true;\n}\n");
    const json verdict = checked(here, "own-gradcheck", here.path("own-gradcheck.cpp"));
    EXPECT_EQ(verdict["kind"], "missed") << verdict;
    EXPECT_EQ(verdict["printed"], "function 2\n") << "the second one is wrong";
}

TEST(LearnCommand, SaysWhatIsWrong) {
    const Workplace here;
    const auto complains = [&](const std::string& words, int status, const std::string& part) {
        expect_complaint(here.run("learn " + words), status, part);
    };
    complains("strat", 2, "did you mean start?");
    complains("start", 2, "which exercise? see heddle learn list");
    complains("start gaurd", 2, "there is no exercise 'gaurd'; did you mean guard?");
    complains("check", 2, "none is started in heddle-learn; see heddle learn list");
    complains("check guard", 2, "there is no file heddle-learn/guard.cu; make it with: heddle learn start guard");
    here.write("mine.cu", "int main() {}\n");
    complains("check mine.cu", 2, "no exercise has the name of mine.cu; say which one it answers with --exercise NAME");
    here.write("progress.json", "{}");
    complains("check mine.cu --exercise map --folder .", 1, "this is not a progress file of heddle learn");
    here.write("map.cu", answer_of("map/solution"));
    const auto with = [&](const std::string& setting) {
        return shell("cd " + quoted(here.path("")) + " && " + setting + " '" HEDDLE_PROGRAM "' learn check map.cu 2>&1");
    };
    EXPECT_THAT(with("PATH=/nowhere").text, HasSubstr("there is no C++ compiler (looked for c++, g++ and clang++); install one"));
    EXPECT_THAT(with("CXX=no-compiler").text, HasSubstr("the compiler that CXX names, no-compiler, is not there"));
}

TEST(LearnCommand, AFileMayHaveAnyName) {
    const Workplace here;
    fs::create_directory(here.path("my folder"));
    const std::string name = "my folder/my \"answer\".cu";
    here.write(name, answer_of("guard/wrong/one-too-many"));
    EXPECT_THAT(checked(here, "guard", name)["text"].get<std::string>(), HasSubstr("reads x[1] at guard.cu:6; x has 1 element"));
    fs::create_directory(here.path("guard"));
    here.write("my folder/guard.cu", answer_of("guard/solution"));
    EXPECT_EQ(here.run("learn check guard --folder 'my folder'").status, 0) << "the folder guard is no answer";
    EXPECT_EQ(here.run("learn solution --folder 'my folder'").out, answer_of("guard/solution"));
}

// The other form on the page: g++ copies the struct in one access (clang splits it, as the page says).
TEST(LearnCommand, AFloat4IsOneAccess) {
    const Workplace here;
    if (shell("${CXX:-c++} --version").text.find("clang") != std::string::npos) GTEST_SKIP() << "with g++ only";
    here.write("vector-loads.cu",
               "#include \"exercise.h\"\n"
               "__global__ void scale(const float* x, float* y, float a, int n) {\n"
               "    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);\n"
               "    if (i >= n / 4) return;\n"
               "    const float4 v = *reinterpret_cast<const float4*>(x + 4 * i);\n"
               "    float4 w = v;\n"
               "    w.x *= a;\n    w.y *= a;\n    w.z *= a;\n    w.w *= a;\n"
               "    *reinterpret_cast<float4*>(y + 4 * i) = w;\n}\n");
    const json verdict = checked(here, "vector-loads", here.path("vector-loads.cu"));
    EXPECT_EQ(verdict["kind"], "pass") << verdict;
}

// A block marked as text shows a check of the exercise's wrong answer of this name.
TEST(LearnCommand, DocumentsShowWhatACheckPrints) {
    const Workplace here;
    const std::map<std::string, std::string> answers = {
        {"map", "strides"}, {"block-sum", "no-first-barrier"}, {"product-rule", "saves-x-twice"}};
    int shown = 0;
    for (const char* document : {"README.md", "docs/learn.md"})
        for (const std::string& block : fenced_blocks(document, "text")) {
            const std::string command = "$ heddle learn check\n", output = block.substr(command.size());
            ASSERT_TRUE(block.starts_with(command)) << block;
            const std::string exercise = output.substr(0, output.find(':'));
            const std::string file = exercise_page(exercise).file_name();
            here.write(file, answer_of(exercise + "/wrong/" + answers.at(exercise)));
            EXPECT_EQ(here.run("learn check " + file).out, output);
            ++shown;
        }
    EXPECT_EQ(shown, 4);
}

// While it exists, temporary folders are made in the workplace's folder "tmp".
class TemporaryFilesIn {
  public:
    explicit TemporaryFilesIn(const Workplace& here) {
        std::filesystem::create_directories(here.path("tmp"));
        setenv("TMPDIR", here.path("tmp").c_str(), 1);
    }
    ~TemporaryFilesIn() { unsetenv("TMPDIR"); }
};

template <class Happened>
bool happens(const Happened& happened) {
    for (int i = 0; i < 3000 && !happened(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return happened();
}

TEST(LearnCommand, CtrlCEndsTheGraderAndRemovesItsFolder) {
    const Workplace here;
    const TemporaryFilesIn tmp(here);
    here.write("guard.cu",
               "#include <csignal>\n#include <cstdio>\n#include <unistd.h>\n#include \"exercise.h\"\nint begin() {\n"
               "    for (int one = 1; one < 16; ++one) std::signal(one, SIG_IGN);\n    std::FILE* file = std::fopen(\"" +
                   here.path("pid") +
                   "\", \"w\");\n    std::fprintf(file, \"%d\", static_cast<int>(getpid()));\n    std::fclose(file);\n"
                   "    for (;;) sleep(1);\n}\nconst int begun = begin();\n");
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        std::filesystem::remove(here.path("pid"));
        RunningProgram program(here, {"learn", "check", "guard.cu", "--seconds", "600"});
        ASSERT_TRUE(happens([&] { return !here.read("pid").empty(); })) << here.read("log");
        EXPECT_FALSE(std::filesystem::is_empty(here.path("tmp")));
        program.send(signal);
        EXPECT_EQ(program.wait(), -signal);
        EXPECT_EQ(here.read("log"), "");
        EXPECT_NE(kill(std::stoi(here.read("pid")), 0), 0) << "the grader still runs";
        EXPECT_TRUE(std::filesystem::is_empty(here.path("tmp")));
    }
}

TEST(LearnCommand, CtrlCEndsTheCompilerAndRemovesItsFiles) {
    const Workplace here;
    const TemporaryFilesIn tmp(here);
    ASSERT_EQ(mkfifo(here.path("pipe").c_str(), 0600), 0);
    here.write("guard.cu", "#include \"" + here.path("pipe") + "\"\n");
    RunningProgram program(here, {"learn", "check", "guard.cu"});
    // The pipe can be opened as soon as the compiler waits for it.
    int pipe = -1;
    ASSERT_TRUE(happens([&] { return pipe >= 0 || (pipe = open(here.path("pipe").c_str(), O_WRONLY | O_NONBLOCK)) >= 0; }));
    program.send(SIGINT);
    EXPECT_EQ(program.wait(), -SIGINT);
    EXPECT_TRUE(std::filesystem::is_empty(here.path("tmp")));
    close(pipe);
    EXPECT_TRUE(happens([&] { return open(here.path("pipe").c_str(), O_WRONLY | O_NONBLOCK) < 0 && errno == ENXIO; }))
        << "the compiler still reads";
}

}  // namespace
}  // namespace heddle
