// Work shared by several processes besides updates: validation, the choice of a length penalty, translations and scores.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <regex>

#include "core/cpu.h"
#include "core/digest.h"
#include "tests/mpi_launcher.h"
#include "tests/toy_runs.h"

namespace heddle {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

const char* const tiny =
    " --train text --valid text --source a --target b --vocab-type word --layers 1 --d-model 16 --heads 2 --d-ff 32"
    " --batch-tokens 2000 --log-every 50 --lr 0.01 --shards 4";

class Distributed : public testing::Test {
  protected:
    Distributed() {
        write_toy_corpus(here_, 120);
        std::string source, target;  // including a blank line, an unknown word, and more letters than a training sentence has
        for (int line = 0; line < 260; ++line) {
            std::string words;
            for (int n = 0; n < 1 + line * 7 % 13; ++n)
                words += fmt::format("{}{}", n > 0 ? " " : "", "abcdefgh"[(line + n * n) % 8]);
            if (line == 17) words = "";
            if (line == 201) words = "a unknown b";
            source += words + "\n";
            for (char& letter : words) letter = static_cast<char>(std::toupper(letter));
            target += words + "\n";
        }
        here_.write("long.a", source);
        here_.write("long.b", target);
    }
    void SetUp() override {
        if (!has_mpi) GTEST_SKIP() << "this build has no MPI (HEDDLE_MPI)";
        ASSERT_TRUE(has_program(mpiexec)) << "this build has MPI, but there is no launcher \"" << mpiexec << "\"";
    }

    // "heddle ARGUMENTS" on this many processes, with this file as standard input.
    ProgramResult run(int ranks, const std::string& arguments, const std::string& input = "/dev/null") const {
        if (ranks == 1) return here_.run(arguments, input == "/dev/null" ? "" : here_.read(input));
        return launch(here_, fmt::format("-n {} {} {}", ranks, quoted(HEDDLE_PROGRAM), arguments), input);
    }
    void train_run(const std::string& name) const {
        ASSERT_EQ(here_.run("train --out " + name + " --updates 60 --tune-search false" + tiny).status, 0);
    }

    const Workplace here_;
};

// Each work on every number of processes, with HEDDLE_TEST_ALL=1, else on one of them.
bool all_ranks() { return std::getenv("HEDDLE_TEST_ALL") != nullptr; }

// The log without times, the run's name, and the line that counts processes.
std::string log_without_times(const std::string& log, const std::string& run) {
    static const std::regex times(
        R"re("(seconds|eta|tokens_per_second|loading_seconds|step_seconds)":[^,}]*|\d[0-9.]* (ms|s)\b)re");
    std::string text;
    for (const std::string& line : lines_of(log))
        if (line.find("processes share the") == std::string::npos) text += std::regex_replace(line, times, "") + "\n";
    return std::regex_replace(text, std::regex(run + R"(\b)"), "RUN");
}

TEST_F(Distributed, ValidationAndTheLengthPenaltyAreThoseOfOneProcess) {
    const std::vector<const char*> files = {"model.safetensors", "best.safetensors", "search.toml", "config.toml"};
    const auto contents = [&](const std::string& run) {
        std::vector<std::string> all;
        for (const char* file : files) all.push_back(digest(here_.read(run + "/" + file)));
        return all;
    };
    for (const int ranks : all_ranks() ? std::vector{1, 2, 3, 4} : std::vector{1, 3}) {
        const std::string name = fmt::format("run{}", ranks);
        const ProgramResult result =
            run(ranks, fmt::format("train --out {} --updates 215 --valid-every 50 --valid-sentences 110{}", name, tiny));
        ASSERT_EQ(result.status, 0) << result.err;
        const std::string log = here_.read(name + "/log.jsonl");
        EXPECT_THAT(log, AllOf(HasSubstr(R"("translated":110)"), HasSubstr("length penalty 0.5: BLEU"))) << "both are tested";
        EXPECT_EQ(log_without_times(log, name), log_without_times(here_.read("run1/log.jsonl"), "run1")) << ranks << " ranks";
        EXPECT_EQ(contents(name), contents("run1")) << ranks << " ranks";
    }
    // A finished run is validated before any update: with its save's weights, and then with the average.
    for (const int ranks : {1, 3}) {
        const ProgramResult result = run(ranks, fmt::format("train --resume run{} --updates 215", ranks));
        ASSERT_EQ(result.status, 0) << result.err;
        EXPECT_THAT(result.err, HasSubstr("nothing to train"));
        EXPECT_EQ(log_without_times(here_.read(fmt::format("run{}/log.jsonl", ranks)), fmt::format("run{}", ranks)),
                  log_without_times(here_.read("run1/log.jsonl"), "run1"));
        EXPECT_EQ(contents(fmt::format("run{}", ranks)), contents("run1"));
    }
}

TEST_F(Distributed, TranslationsAndScoresAreThoseOfOneProcess) {
    train_run("run");
    train_run("other");
    struct Case {
        std::string arguments, input = "/dev/null";
        std::vector<std::string> files = {};
    };
    const std::string evaluate = "evaluate run --test long --source a --target b ";
    const std::vector<Case> cases = {
        {"translate run --flush-every 30", "long.a"},
        {"translate run other --n-best 3 --scores --length-penalty 0.7 --beam 4", "long.a"},
        {"translate run --alignment --prefix A --flush-every 100", "long.a"},
        {"translate run --sample --n-best 2 --top-k 4 --seed 5 --flush-every 30", "long.a"},
        {"translate run --attention maps --attention-lines 5 --svg", "long.a", {"maps/index.html"}},
        {"translate run"},
        {"score run --source-file long.a --target-file long.b"},
        {"score run other --normalize --source-file - --target-file long.b", "long.a"},
        {evaluate + "--output translated --results results --sentences", "/dev/null", {"translated", "results/model.txt"}},
        {evaluate + "--json"},
        // mpirun of OpenMPI 4 would take "--tune run" as an option of its own.
        {"evaluate --tune=run --beam 2", "/dev/null", {"run/search.toml"}},
        {"evaluate long.b --reference long.b"},
    };
    const auto said = [](const ProgramResult& result) {
        return std::regex_replace(result.err, std::regex(R"(translated in \d+\.\d+ s)"), "translated");
    };
    int next = 0;
    for (const Case& each : cases) {
        const auto contents = [&] {
            std::vector<std::string> all;
            for (const std::string& file : each.files) {
                all.push_back(here_.read(file));
                EXPECT_FALSE(all.back().empty()) << file;
            }
            return all;
        };
        const ProgramResult one = run(1, each.arguments, each.input);
        ASSERT_EQ(one.status, 0) << one.err;
        const std::vector<std::string> files = contents();
        for (const int ranks : all_ranks() ? std::vector{2, 3, 4} : std::vector{2 + next++ % 3}) {
            SCOPED_TRACE(fmt::format("{} on {} ranks", each.arguments, ranks));
            for (const std::string& file : each.files) std::filesystem::remove(here_.path(file));
            const ProgramResult result = run(ranks, each.arguments, each.input);
            EXPECT_EQ(result.status, 0) << result.err;
            EXPECT_EQ(result.out, one.out);
            EXPECT_EQ(said(result), said(one));
            EXPECT_EQ(contents(), files);
        }
    }
}

// The batches equal those of one process; otherwise a device's bits would differ, since its sums depend on the batch.
TEST_F(Distributed, TranslationsAreThoseOfOneProcessOnTheDevice) {
    if (here_.run("--version").out.find("cuda: ") == std::string::npos)
        GTEST_SKIP() << "there is no device, not even an emulated one";
    train_run("run");
    std::string few;
    for (const std::string& line : lines_of(here_.read("long.a"))) few += few.size() < 150 ? line + "\n" : "";
    here_.write("few.a", few);
    for (const char* dtype : {"f32", "bf16"}) {
        const std::string arguments =
            fmt::format("translate run --device cuda --dtype {} --beam 2 --n-best 2 --scores --flush-every 5", dtype);
        const ProgramResult one = run(1, arguments, "few.a"), two = run(2, arguments, "few.a");
        ASSERT_EQ(one.status, 0) << one.err;
        ASSERT_EQ(two.status, 0) << two.err;
        EXPECT_EQ(two.out, one.out);
    }
}

// A line is translated as soon as it arrives, even if few others have.
TEST_F(Distributed, ALineFromAPipeIsAnsweredAtOnce) {
    train_run("run");
    const ShellOutput output = shell(
        fmt::format("cd {} && mkfifo lines && ( {} <lines >answers 2>stderr ) & cd {}; for i in $(seq 300); do [ -p lines ] && "
                    "break; sleep 0.1; done; "
                    "exec 3>lines; echo a b >&3; for i in $(seq 300); do [ -s answers ] && break; sleep 0.1; done; wc -l "
                    "<answers; echo c >&3; "
                    "exec 3>&-; wait; wc -l <answers",
                    quoted(here_.path("")), launch_command(here_, fmt::format("-n 2 {} translate run", quoted(HEDDLE_PROGRAM))),
                    quoted(here_.path(""))));
    EXPECT_EQ(output.text, "1\n2\n") << here_.read("stderr");
}

TEST_F(Distributed, ProcessesThatCannotWorkTogetherEndWithOneReason) {
    train_run("run");
    const std::string program = quoted(HEDDLE_PROGRAM);
    const auto reading = [&](const char* file) {
        return fmt::format("sh -c {}", quoted(fmt::format("exec {} translate run <{}", program, file)));
    };
    const ProgramResult unlike = launch(here_, fmt::format("-n 1 {} : -n 2 {}", reading("long.a"), reading("long.b")));
    EXPECT_EQ(unlike.status, 2) << unlike.err;
    EXPECT_THAT(complaints(unlike),
                ElementsAre(AllOf(HasSubstr("heddle: rank 1 on "), HasSubstr("its standard input is not that of rank 0"))));
    EXPECT_EQ(unlike.out, "");
    const ProgramResult alike = launch(here_, fmt::format("-n 1 {} : -n 2 {}", reading("long.a"), reading("long.a")));
    EXPECT_EQ(alike.status, 0) << alike.err;
    EXPECT_EQ(lines_of(alike.out).size(), 260u) << "rank 0 alone reads and writes";

    const ProgramResult missing = run(3, "score nothing --source-file long.a --target-file long.b");
    EXPECT_EQ(missing.status, 1) << missing.err;
    EXPECT_THAT(complaints(missing), ElementsAre(HasSubstr("nothing: there is no config.toml")));
    if (processor_level() == CpuLevel::v2) return;  // this processor has no other level
    const ProgramResult slower = launch(
        here_,
        fmt::format("-n 1 {0} evaluate run --test text : -n 1 env HEDDLE_CPU_LEVEL=v2 {0} evaluate run --test text", program));
    EXPECT_EQ(slower.status, 2) << slower.err;
    EXPECT_THAT(complaints(slower), ElementsAre(AllOf(HasSubstr("heddle: rank 1 on "), HasSubstr("give --cpu-level v2"))));
}

// Several processes started with a build without MPI.
TEST(DistributedWithoutMpi, ProcessesThatDoNotKnowEachOtherAreRefused) {
    if (has_mpi) GTEST_SKIP() << "this build has MPI";
    for (const char* command : {"translate run", "score run --source-file a --target-file b", "evaluate run"}) {
        const ShellOutput output = shell(
            fmt::format("OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_RANK=0 {} {} 2>&1 </dev/null", quoted(HEDDLE_PROGRAM), command));
        EXPECT_EQ(output.status, 2);
        EXPECT_THAT(output.text, testing::StartsWith("heddle: started as 4 processes, but this build has no MPI"));
        EXPECT_EQ(lines_of(output.text).size(), 1u);
    }
}

}  // namespace
}  // namespace heddle
