// The program's messages when nothing is trained.
#include "tests/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/cpu.h"
#include "tests/documents.h"

namespace heddle {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;

TEST(Program, ShowsHelpOfEveryCommandOnStdout) {
    const Workplace here;
    EXPECT_THAT(here.run("--help").out, HasSubstr("usage: heddle COMMAND"));
    for (const std::string& command : every_command()) {
        const ProgramResult result = here.run(command + " --help");
        EXPECT_EQ(result.status, 0) << command;
        EXPECT_EQ(result.err, "") << command;
        EXPECT_THAT(result.out, StartsWith("heddle " + command + " - "));
        EXPECT_THAT(result.out, AllOf(HasSubstr("usage: heddle " + command), HasSubstr("--config FILE"))) << command;
    }
}

TEST(Program, HelpsByWordAsByOption) {
    const Workplace here;
    const std::string all = here.run("--help").out;
    for (const char* words : {"", "help", "-h", "help help", "help version", "help --version", "help --help", "help -h"}) {
        const ProgramResult result = here.run(words);
        EXPECT_EQ(result.status, 0) << words;
        EXPECT_EQ(result.out, all) << words;
        EXPECT_EQ(result.err, "") << words;
    }
    std::vector<std::string> commands = every_command();
    commands.push_back("bench");
    for (const std::string& command : commands) {
        const ProgramResult result = here.run("help " + command);
        EXPECT_EQ(result.status, 0) << command;
        EXPECT_EQ(result.out, here.run(command + " --help").out) << command;
    }
}

TEST(Program, ListsWhatThereIsWhereANameIsMissing) {
    const Workplace here;
    for (const std::string command : {"lab", "chapter"}) {
        const ProgramResult result = here.run(command);
        EXPECT_EQ(result.status, 0) << result.err;
        EXPECT_EQ(result.out, here.run(command + " list").out);
        EXPECT_GT(lines_of(result.out).size(), 4u);
    }
    const ProgramResult bench = here.run("bench");
    EXPECT_EQ(bench.status, 0) << bench.err;
    EXPECT_THAT(bench.out, AllOf(HasSubstr("heddle bench train "), HasSubstr("heddle bench ops ")));
}

// The most common option may be given as a plain word.
TEST(Program, TakesItsObviousOptionAsAWord) {
    const Workplace here;
    const auto same = [&](const std::string& word, const std::string& option) {
        const ProgramResult one = here.run(word), other = here.run(option);
        EXPECT_EQ(one.status, other.status) << word;
        EXPECT_EQ(one.out, other.out) << word;
        EXPECT_EQ(one.err, other.err) << word;
    };
    same("gradcheck softmax --list", "gradcheck --op softmax --list");
    same("gradcheck --list softmax", "gradcheck --op softmax --list");
    same("summary paper --layers 1 --input 1x2 --depth 0", "summary --preset paper --layers 1 --input 1x2 --depth 0");
    for (const char* command : {"summary", "translate", "evaluate", "average"})
        same(std::string(command) + " RUN", std::string(command) + " --model RUN");
    same("score RUN --source-file x --target-file y", "score --model RUN --source-file x --target-file y");
    same("bench ops nothing --sizes tiny", "bench ops --op nothing --sizes tiny");
    EXPECT_EQ(here.run("gradcheck softmax").status, 0);
    EXPECT_EQ(here.run("evaluate RUN").status, 1) << "there is none";
    expect_complaint(here.run("train numbers --out RUN"), 2, "unexpected argument 'numbers'; did you mean --task numbers? ");
}

// The version is stated in CMakeLists.txt only.
std::string project_version() {
    const std::string text = project_file("CMakeLists.txt"), before = "project(heddle VERSION ";
    const std::size_t begin = text.find(before) + before.size();
    return text.substr(begin, text.find_first_of(" \n)", begin) - begin);
}

TEST(Program, SaysWhatItComputesWith) {
    const Workplace here;
    const ProgramResult result = here.run("--version");
    EXPECT_EQ(result.status, 0);
    EXPECT_THAT(result.out, AllOf(StartsWith("heddle " + project_version() + "\n"), HasSubstr("\nproducts  own tile kernels, v"),
                                  HasSubstr("\nthreads   "), HasSubstr("\ndevices   cpu")));
    const bool checkout = std::filesystem::exists(HEDDLE_SOURCE_DIR "/.git") &&
                          std::system("git -C '" HEDDLE_SOURCE_DIR "' describe --always >/dev/null 2>&1") == 0;
    if (checkout)
        EXPECT_THAT(result.out, ContainsRegex("\ncommit    [0-9a-f]+(-dirty)?\n"));
    else
        EXPECT_THAT(result.out, testing::Not(HasSubstr("commit")));
}

TEST(Program, WarnsWhenTheProcessorCouldDoBetter) {
    const Workplace here;
    setenv("HEDDLE_CPU_LEVEL", "v2", 1);
    const ProgramResult low = here.run("--version");
    setenv("HEDDLE_CPU_LEVEL", "v9", 1);
    const ProgramResult unknown = here.run("--version");
    unsetenv("HEDDLE_CPU_LEVEL");
    EXPECT_THAT(low.out, HasSubstr(std::string(name(CpuLevel::v2))));
    if (here.run("--version").out.find("v2 (") == std::string::npos) {
        EXPECT_THAT(low.err, HasSubstr("warning"));
    }
    EXPECT_EQ(unknown.status, 1);
}

TEST(Program, EndsUsageErrorsWithStatusTwo) {
    const Workplace here;
    expect_complaint(here.run("''"), 2, "there is no command ''; see heddle --help");
    expect_complaint(here.run("trian"), 2, "there is no command 'trian'; did you mean train? see heddle --help");
    expect_complaint(here.run("version x"), 2, "unexpected argument 'x'; heddle version takes no arguments");
    expect_complaint(here.run("--version --json"), 2, "unexpected argument '--json'; heddle --version takes no arguments");
    expect_complaint(here.run("help trian"), 2, "there is no command 'trian'; did you mean train? see heddle --help");
    expect_complaint(here.run("bench tran"), 2,
                     "did you mean train? wanted heddle bench train, heddle bench ops or heddle bench ladder");
    expect_complaint(here.run("train"), 2, "--out RUN");
    expect_complaint(here.run("train --out RUN"), 2, "--task numbers");
    expect_complaint(here.run("train --out RUN --train x"), 2, "--source de --target en");
    expect_complaint(here.run("train --out RUN --task numbers --train x"), 2, "--task and --train");
    expect_complaint(here.run("train --out RUN --lr fast"), 2, "--lr is 'fast'");
    expect_complaint(here.run("train --out RUN --lr inf"), 2, "--lr is 'inf'");
    expect_complaint(here.run("train --out RUN --task jokes"), 2, "wanted one of numbers");
    expect_complaint(here.run("train --out RUN --task number"), 2, "; did you mean numbers?\n");
    expect_complaint(here.run("train --out RUN --task copy --tsv"), 2, "--task makes its own");
    expect_complaint(here.run("train --resume RUN --overwrite"), 2, "--overwrite");
    expect_complaint(here.run("train --config / --out RUN"), 2, "it is a folder");
    for (const char* empty : {"train --task copy --out", "train --resume", "average RUN --last 1 --out", "lab all --out",
                              "evaluate --model RUN --test x --output", "evaluate --model RUN --test x --results"})
        expect_complaint(here.run(std::string(empty) + " ''"), 2, " is empty, wanted ");
    EXPECT_EQ(here.run("train --out RUN --task copy --positions learned --position-table 1").status, 1) << "no sentence fits";
    expect_complaint(here.run("train --out RUN --speed 3"), 2, "--speed");
    expect_complaint(here.run("train --config none.toml --out RUN"), 2, "none.toml");
    expect_complaint(here.run("translate"), 2, "give heddle translate RUN");
    expect_complaint(here.run("translate --model RUN --beam 0"), 2, "--beam is '0'");
    expect_complaint(here.run("evaluate"), 2, "--hypotheses FILE --reference FILE");
    expect_complaint(here.run("evaluate --hypotheses x --model y"), 2, "two ways");
    expect_complaint(here.run("gradcheck --op nothing"), 2, "choose one of");
    expect_complaint(here.run("gradcheck sofmax"), 2, "; did you mean softmax?\n");
    expect_complaint(here.run("gradcheck softmax --op matmul"), 2, "'softmax' and --op both choose the op; give only one");
    expect_complaint(here.run("lab tiny-mesk"), 2, "did you mean tiny-mask? see heddle lab list");
    expect_complaint(here.run("chapter papr"), 2, "did you mean paper? see heddle chapter list");
    expect_complaint(here.run("summary papr"), 2, "; did you mean paper?\n");
    expect_complaint(here.run("summary --heads 3"), 2, "--heads 3 does not divide");
    EXPECT_FALSE(here.exists("RUN")) << "a run that cannot begin leaves nothing behind";
}

TEST(Program, EndsOtherErrorsWithStatusOne) {
    const Workplace here;
    here.write("a.de", "eins\nzwei\n");
    here.write("a.en", "one\n");
    here.write("bad.de", "\xff\n");
    here.write("bad.en", "one\n");
    expect_complaint(here.run("train --train a --source de --target en --out RUN"), 1, "a.de has 2 lines, but a.en has 1 line");
    expect_complaint(here.run("train --train b --source de --target en --out RUN"), 1, "b.de");
    expect_complaint(here.run("train --train bad --source de --target en --out RUN"), 1, "UTF-8");
    // Errors that need no text come before the text is read.
    for (const char* command : {"train", "prepare"})
        expect_complaint(here.run(std::string(command) + " --train b --source de --target en --out a.de/RUN"), 1,
                         "--out a.de/RUN: the folder cannot be made: Not a directory");
    expect_complaint(here.run("translate --model RUN"), 1, "config.toml");
    expect_complaint(here.run("evaluate --hypotheses a.de --reference a.en"), 1, "a.de has 2 lines, but a.en has 1 line");
    EXPECT_FALSE(here.exists("RUN")) << "a run that cannot begin leaves nothing behind";
}

TEST(Program, ScoresAFileOfTranslations) {
    const Workplace here;
    here.write("h", "the cat sat on the mat .\nA dog\n");
    here.write("r", "the cat sat on the mat .\na dog\n");
    const ProgramResult result = here.run("evaluate --hypotheses h --reference r");
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_THAT(result.out, AllOf(StartsWith("BLEU = "), HasSubstr("case:mixed"), HasSubstr("exact: 1 of 2 lines (50.00 %)")));
    EXPECT_THAT(here.run("evaluate --hypotheses h --reference r --lowercase").out, StartsWith("BLEU = 100.00"));
}

TEST(Program, PrintsTheStandardModel) {
    const Workplace here;
    const ProgramResult result = here.run("summary");
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_THAT(result.out, AllOf(StartsWith("module"), HasSubstr("2,157,056")));
    EXPECT_THAT(here.run("summary --vocab-size 100 --tie none --layers 1 --d-model 8 --d-ff 16 --heads 2").out,
                HasSubstr("output"));
}

TEST(Program, ProvesGradients) {
    const Workplace here;
    const ProgramResult proven = here.run("gradcheck --op layer_norm");
    EXPECT_EQ(proven.status, 0) << proven.err;
    EXPECT_THAT(proven.out, AllOf(HasSubstr("worst error"), HasSubstr("forward  adjoint  Hessian  verdict"), HasSubstr("proven"),
                                  HasSubstr("all 3 cases are proven")));
    const ProgramResult json = here.run("gradcheck layer_norm --json");
    EXPECT_EQ(json.status, 0) << json.err;
    EXPECT_THAT(json.out,
                AllOf(StartsWith(R"({"passed":true,"cases":[{"op":"layer_norm","case":"plain","passed":true,"derivatives":)"),
                      HasSubstr(R"("adjoint":)"), HasSubstr(R"("message":""}]})")));
    const ProgramResult page = here.run("gradcheck exp --report page.html");
    EXPECT_EQ(page.status, 0) << page.err;
    EXPECT_THAT(here.read("page.html"),
                AllOf(HasSubstr("all 1 cases are proven."), HasSubstr("Taylor slope 2."), HasSubstr("<svg")));
    here.write("notes.txt", "mine");
    expect_complaint(here.run("gradcheck exp --report notes.txt"), 1, "notes.txt");
    EXPECT_EQ(here.read("notes.txt"), "mine");
    const ProgramResult list = here.run("gradcheck --list");
    EXPECT_EQ(list.status, 0);
    for (const char* op : {"matmul", "linear", "attention", "embedding", "softmax", "layer_norm", "feed_forward", "cross_entropy",
                           "self_attention", "decoder_layer", "transformer"})
        EXPECT_THAT(list.out, HasSubstr(std::string(op) + "\t"));
}

// Typical mistakes for a run's folder.
TEST(Program, SaysWhatToGiveInPlaceOfWhatIsNoRun) {
    const Workplace here;
    std::filesystem::create_directories(here.path("runs/first"));
    here.write("runs/first/config.toml", "");
    here.write("runs/first/model.safetensors", "");
    here.write("my text.de", "ein Hund\n");
    expect_complaint(here.run("translate runs"), 1, "runs: this folder is no run, but holds some; give one, such as runs/first");
    expect_complaint(here.run("translate runs/first/model.safetensors"), 1, "this is a file of a run; give its folder, ");
    expect_complaint(here.run("evaluate --model 'my text.de' --test x"), 1, "comes from standard input: < 'my text.de')");
    expect_complaint(here.run("translate none"), 1, "none: there is no config.toml; wanted a folder that heddle train made");
}

TEST(Program, ReportsAFullDisk) {
    if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "this system has no /dev/full";
    const Workplace here;
    // Output of one line, which is written at the end, and output larger than a buffer.
    for (const char* command : {"--version", "summary", "gradcheck --json"}) {
        const ProgramResult result = here.run(command, "", "/dev/full");
        EXPECT_EQ(result.status, 1) << command;
        EXPECT_EQ(result.err, "heddle: the results cannot be written to stdout: No space left on device\n") << command;
    }
}

}  // namespace
}  // namespace heddle
