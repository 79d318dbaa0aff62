// Training divided into shards, in one process and in several.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <random>
#include <thread>

#include "core/cpu.h"
#include "tests/mpi_launcher.h"
#include "tests/program.h"
#include "tests/toy_runs.h"

namespace heddle {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using namespace std::chrono_literals;

const char* const tiny =
    " --train text --valid text --source a --target b --vocab-type word --layers 1 --d-model 16 --heads 2 --d-ff 32"
    " --batch-tokens 80 --accumulate 2 --log-every 1 --valid-every 5 --valid-sentences 2 --save-every 4 --keep 0 --tune-search "
    "false";

class Shards : public testing::Test {
  protected:
    Shards() { write_toy_corpus(here_, 90); }

    ProgramResult train(const std::string& arguments) const { return here_.run("train" + arguments); }
    std::map<std::string, std::string> digests(const std::string& run) const { return digests_of_weights(here_, run); }

    const Workplace here_;
};

TEST_F(Shards, AreNotTrainedByProcessesThatDoNotKnowEachOther) {
    if (has_mpi) GTEST_SKIP() << "this build has MPI";
    for (const char* starter : {"OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_RANK=0", "PMI_SIZE=4 PMI_RANK=0",
                                "SLURM_NTASKS=4 SLURM_STEP_NUM_TASKS=4 PMIX_RANK=0"}) {
        const ShellOutput output = shell(fmt::format("cd {} && {} {} train --out run --shards 4 {} 2>&1", quoted(here_.path("")),
                                                     starter, quoted(HEDDLE_PROGRAM), tiny));
        EXPECT_EQ(output.status, 2);
        EXPECT_THAT(output.text, AllOf(testing::StartsWith("heddle: started as 4 processes, but this build has no MPI"),
                                       testing::EndsWith("\n")));
        EXPECT_EQ(lines_of(output.text).size(), 1u);
        EXPECT_FALSE(here_.exists("run"));
    }
    // In a Slurm batch script SLURM_NTASKS is set, but there is only one process.
    const ShellOutput alone = shell(fmt::format("cd {} && SLURM_NTASKS=4 {} train --out run --updates 1 {} 2>&1",
                                                quoted(here_.path("")), quoted(HEDDLE_PROGRAM), tiny));
    EXPECT_EQ(alone.status, 0) << alone.text;
}

class ManyProcesses : public Shards {
  protected:
    void SetUp() override {
        if (!has_mpi) GTEST_SKIP() << "this build has no MPI (HEDDLE_MPI)";
        ASSERT_TRUE(has_program(mpiexec)) << "this build has MPI, but there is no launcher \"" << mpiexec << "\"";
    }

    std::string started(const std::string& what) const { return launch_command(here_, what); }
    std::string program(const std::string& arguments) const { return quoted(HEDDLE_PROGRAM) + " train" + arguments; }
    ProgramResult run_together(const std::string& what) const { return launch(here_, what); }
    ProgramResult train_together(int ranks, const std::string& arguments) const {
        return run_together(fmt::format("-n {} {}", ranks, program(arguments)));
    }
    // Starts a launcher in the background and returns its process id, or 0 if there is none. NAME.log receives its output,
    // NAME.status its exit status.
    int start_together(const std::string& name, const std::string& what) const {
        const auto file = [&](const char* ending) { return quoted(here_.path(name + ending)); };
        shell(fmt::format("( {} >{} 2>&1 </dev/null & echo $! >{}; wait $!; echo $? >{} ) >/dev/null 2>&1 &", started(what),
                          file(".log"), file(".pid"), file(".status")));
        const auto written = [&] { return here_.exists(name + ".pid") && here_.read(name + ".pid").ends_with('\n'); };
        return comes(written) ? std::stoi(here_.read(name + ".pid")) : 0;
    }
    bool has_ended(const std::string& name) const {
        return here_.exists(name + ".status") && here_.read(name + ".status").ends_with('\n');
    }
    // True if this becomes true within 30 seconds.
    static bool comes(const std::function<bool()>& what) {
        const auto start = std::chrono::steady_clock::now();
        while (!what()) {
            if (std::chrono::steady_clock::now() - start > 30s) return false;
            std::this_thread::sleep_for(20ms);
        }
        return true;
    }
};

TEST_F(ManyProcesses, LeaveTheBytesOfOne) {
    const char* const exchange = ">during backward<";  // a heading in the report's table
    for (const auto& [shards, processes] : std::map<int, std::vector<int>>{{4, {2, 3, 4}}, {5, {2}}, {12, {3}}}) {
        const std::string options = fmt::format(" --updates 10 --shards {}{}", shards, tiny), one = fmt::format("one{}", shards);
        ASSERT_EQ(train(" --out " + one + options).status, 0);
        EXPECT_THAT(here_.read(one + "/report.html"), Not(HasSubstr(exchange)));
        for (const int ranks : processes) {
            const std::string run = fmt::format("run{}of{}", ranks, shards);
            const ProgramResult result = train_together(ranks, " --out " + run + options);
            ASSERT_EQ(result.status, 0) << result.err;
            EXPECT_EQ(digests(run), digests(one)) << ranks << " ranks, " << shards << " shards";
            EXPECT_THAT(here_.read(run + "/report.html"), HasSubstr(exchange));
            EXPECT_EQ(here_.read(run + "/config.toml"), here_.read(one + "/config.toml"));
            EXPECT_THAT(result.err, HasSubstr(fmt::format("{} processes share the {} shards of an update", ranks, shards)));
            EXPECT_EQ(result.err.find("training: "), result.err.rfind("training: ")) << "rank 0 alone speaks:\n" << result.err;
        }
    }
}

// The exchange goes through the host, with captured steps that leave their losses on the device.
TEST_F(ManyProcesses, LeaveTheBytesOfOneOnTheDevice) {
    if (here_.run("--version").out.find("cuda: ") == std::string::npos)
        GTEST_SKIP() << "there is no device, not even an emulated one";
    write_toy_corpus(here_, 12);
    std::string model = tiny;
    model.erase(model.find(" --log-every"));
    for (const std::string dtype : {"f32", "bf16"}) {
        const std::string options = fmt::format(
            " --updates 2 --shards 2 --device cuda --dtype {}{} --valid-sentences 0 --tune-search false", dtype, model);
        ASSERT_EQ(train(fmt::format(" --out one-{}{}", dtype, options)).status, 0);
        const ProgramResult result = train_together(2, fmt::format(" --out two-{}{}", dtype, options));
        ASSERT_EQ(result.status, 0) << result.err;
        EXPECT_EQ(digests(fmt::format("two-{}", dtype)), digests(fmt::format("one-{}", dtype)));
    }
}

TEST_F(ManyProcesses, EndWithOneReasonWhenTheyCannotTrain) {
    const ProgramResult few = train_together(3, " --out run --shards 2" + std::string(tiny));
    EXPECT_EQ(few.status, 2) << few.err;
    EXPECT_THAT(complaints(few), testing::ElementsAre(HasSubstr("--shards 2 is too few for 3 processes")));
    EXPECT_FALSE(here_.exists("run"));

    const ProgramResult unlike =
        run_together(fmt::format("-n 1 {} : -n 2 {}", program(" --out run --shards 3" + std::string(tiny)),
                                 program(" --out run --shards 4" + std::string(tiny))));
    EXPECT_EQ(unlike.status, 2) << unlike.err;
    EXPECT_THAT(complaints(unlike),
                testing::ElementsAre(AllOf(HasSubstr("heddle: rank 1 on "), HasSubstr("other arguments than rank 0"))));
    EXPECT_FALSE(here_.exists("run"));

    const ProgramResult diverged =
        train_together(2, " --out run --shards 2 --lr 1e30 --clip 0 --schedule constant" + std::string(tiny));
    EXPECT_EQ(diverged.status, 3) << diverged.err;
    EXPECT_THAT(complaints(diverged), testing::ElementsAre(HasSubstr("training diverged")));
}

TEST_F(ManyProcesses, LeaveARunThatTheyWereToReplaceWhenTheirProcessorsDiffer) {
    if (processor_level() == CpuLevel::v2) GTEST_SKIP() << "this processor has one level";
    ASSERT_EQ(train(" --out run --updates 2" + std::string(tiny)).status, 0);
    const auto before = digests("run");
    const std::string replacing = program(" --out run --overwrite --updates 4 --shards 3" + std::string(tiny));
    const ProgramResult unlike = run_together(fmt::format("-n 1 {0} : -n 2 env HEDDLE_CPU_LEVEL=v2 {0}", replacing));
    EXPECT_EQ(unlike.status, 2) << unlike.err;
    EXPECT_THAT(complaints(unlike),
                testing::ElementsAre(AllOf(HasSubstr("heddle: rank 1 on "), HasSubstr("give --cpu-level v2"))));
    EXPECT_EQ(digests("run"), before);
}

// Rank 0 reads the text: files of the same name on other ranks, with other sentences, do not matter.
TEST_F(ManyProcesses, LearnTheTextOfRank0) {
    const std::string options = " --updates 4 --shards 2" + std::string(tiny);
    ASSERT_EQ(train(" --out one" + options).status, 0);
    std::filesystem::create_directory(here_.path("elsewhere"));
    here_.write("elsewhere/text.a", "x y\n");
    here_.write("elsewhere/text.b", "z\n");
    const ProgramResult result = run_together(
        fmt::format("-n 1 {0} : -n 1 -wdir {1} {0}", program(" --out two" + options), quoted(here_.path("elsewhere"))));
    ASSERT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(digests("two"), digests("one"));
    EXPECT_FALSE(here_.exists("elsewhere/two"));
}

// Each process opens a prepared text itself; if one of them cannot find it, the pairs are sent.
TEST_F(ManyProcesses, OpenAPreparedTextThemselves) {
    const std::string options = " --updates 10 --shards 4" + std::string(tiny);
    ASSERT_EQ(train(" --out one" + options).status, 0);
    ASSERT_EQ(here_.run("prepare --train text --source a --target b --vocab-type word --out prepared").status, 0);
    std::string from_files = options;
    from_files.replace(from_files.find("--train text"), 12, "--train prepared");
    for (const int ranks : {1, 2, 4}) {
        const std::string run = fmt::format("run{}", ranks);
        const ProgramResult result =
            ranks == 1 ? train(" --out " + run + from_files) : train_together(ranks, " --out " + run + from_files);
        ASSERT_EQ(result.status, 0) << result.err;
        EXPECT_EQ(digests(run), digests("one")) << ranks;
        EXPECT_THAT(result.err, Not(HasSubstr("is sent to all processes")));
    }
    // Rank 1 has another folder mounted in its place: without a text, with another text, or with a damaged copy.
    here_.write("other.a", "x y\nz\n");
    here_.write("other.b", "X Y\nZ\n");
    ASSERT_EQ(here_.run("prepare --train other --source a --target b --vocab-type word --out other").status, 0);
    std::filesystem::copy(here_.path("prepared"), here_.path("damaged"));
    std::string lengths = here_.read("damaged/00000.lengths");
    ++lengths[8];  // the number of words, which enters no sum in the header
    here_.write("damaged/00000.lengths", lengths);
    for (const auto& [copied, why] : {std::pair("", "prepared.json"),
                                      {"other", "prepared: not the text of rank 0"},
                                      {"damaged", "00000.lengths: the file is damaged"}}) {
        const std::string hide = *copied == 0 ? "" : fmt::format("cp {}/* prepared && ", copied),
                          run = fmt::format("two{}", copied);
        const ProgramResult elsewhere = run_together(
            fmt::format("-n 1 {0} : -n 1 unshare -rm sh -c {1}", program(" --out " + run + from_files),
                        quoted("mount -t tmpfs none prepared && " + hide + "exec " + program(" --out " + run + from_files))));
        if (elsewhere.err.find("unshare") != std::string::npos) GTEST_SKIP() << "no folder can be hidden from a process here";
        ASSERT_EQ(elsewhere.status, 0) << elsewhere.err;
        EXPECT_EQ(digests(run), digests("one"));
        EXPECT_THAT(elsewhere.err,
                    AllOf(HasSubstr("rank 1 on "), HasSubstr(why), HasSubstr("the text is sent to all processes")));
    }
}

// A text too large to be held in memory: rank 0 writes it, and all ranks open it.
TEST_F(ManyProcesses, OpenATextThatRank0Prepares) {
    const std::string options = " --shards 4" + std::string(tiny), in_files = " --prepare-above 0";
    ASSERT_EQ(train(" --out one --updates 10" + options).status, 0);
    ASSERT_EQ(train(" --out whole --updates 14" + options).status, 0);
    for (const int ranks : {2, 4}) {
        const std::string run = fmt::format("run{}", ranks);
        const ProgramResult result = train_together(ranks, " --updates 10 --out " + run + options + in_files);
        ASSERT_EQ(result.status, 0) << result.err;
        EXPECT_EQ(digests(run), digests("one")) << ranks;
        EXPECT_THAT(result.err,
                    AllOf(HasSubstr(run + "/text.prepared: 90 pairs with "), Not(HasSubstr("is sent to all processes"))));
        EXPECT_EQ(result.err.find("pairs with"), result.err.rfind("pairs with")) << "rank 0 alone prepares:\n" << result.err;
        const ProgramResult resumed = train_together(ranks - 1, " --updates 14 --resume " + run);
        ASSERT_EQ(resumed.status, 0) << resumed.err;
        EXPECT_THAT(resumed.err, AllOf(HasSubstr("prepared before"), Not(HasSubstr("is sent to all processes"))));
        for (const char* file : {"saves/14/model.safetensors", "saves/14/moments.safetensors"})
            EXPECT_EQ(digests(run).at(file), digests("whole").at(file));
    }
    // If another rank fails after the text was written, nothing is left.
    if (processor_level() == CpuLevel::v2) return;
    const std::string none = program(" --out none --updates 4" + options + in_files);
    const ProgramResult unlike = run_together(fmt::format("-n 1 {0} : -n 1 env HEDDLE_CPU_LEVEL=v2 {0}", none));
    EXPECT_EQ(unlike.status, 2) << unlike.err;
    EXPECT_THAT(unlike.err, AllOf(HasSubstr("none/text.prepared: 90 pairs with "), HasSubstr("give --cpu-level v2")));
    EXPECT_FALSE(here_.exists("none"));
}

// Endless copies of `tiny`, ended by a signal.
const std::string endless = " --shards 4 --epochs 100000" + std::string(tiny);

// Kills rank 0 or 2 of three after the first save; with HEDDLE_KILLS=200, also 200 times any of two to four at any moment.
TEST_F(ManyProcesses, AllEndWhenOneIsKilledAndGoOnFromItsSave) {
    const char* const more = std::getenv("HEDDLE_KILLS");
    const int kills = 2 + (more ? std::stoi(more) : 0);
    std::mt19937 random(1);
    const auto below = [&](int end) { return static_cast<int>(random() % static_cast<unsigned>(end)); };
    int resumed_runs = 0, launchers_stuck = 0;
    for (int round = 0; round < kills; ++round) {
        const bool anywhere = round >= 2;
        const int ranks = anywhere ? 2 + below(3) : 3, victim = anywhere ? below(ranks) : 2 * round;
        const std::string run = fmt::format("killed{}-", round);
        SCOPED_TRACE(fmt::format("rank {} of {}", victim, ranks));
        const int starter = start_together(run, fmt::format("-n {} {}", ranks, program(" --out " + run + endless)));
        ASSERT_GT(starter, 0);
        const auto has_saved = [&] { return here_.exists(run + "/saves/latest"); };
        // Each process's environment has its rank, under OpenMPI's or MPICH's name.
        const auto processes = [&](const std::string& rank) {
            return shell(fmt::format("for p in $(pgrep -f -- '--out {} '); do tr '\\0' '\\n' 2>/dev/null </proc/$p/environ | "
                                     "grep -qxE '(OMPI_COMM_WORLD_RANK|PMI_RANK)={}' && echo $p; done; true",
                                     run, rank))
                .text;
        };
        const auto pid_of_victim = [&] { return processes(std::to_string(victim)); };
        if (anywhere) {
            std::this_thread::sleep_for(std::chrono::milliseconds(below(3000)));
            ASSERT_TRUE(comes([&] { return !pid_of_victim().empty(); })) << here_.read(run + ".log");
        } else {
            ASSERT_TRUE(comes(has_saved)) << here_.read(run + ".log");
            ASSERT_EQ(lines_of(processes("[0-9]+")).size(), 3u);
        }
        ASSERT_EQ(kill(std::stoi(pid_of_victim()), SIGKILL), 0);
        EXPECT_TRUE(comes([&] { return processes("[0-9]+").empty(); })) << "processes are left";
        // OpenMPI's mpirun sometimes waits forever for its own lock, although no process is left (docs/machines.md).
        if (comes([&] { return has_ended(run); })) {
            EXPECT_NE(here_.read(run + ".status"), "0\n");
            EXPECT_THAT(here_.read(run + ".log"),
                        testing::AnyOf(HasSubstr("signal 9"), HasSubstr("SIGNAL: 9"), HasSubstr("EXIT CODE: 9")));
        } else {
            kill(starter, SIGKILL);
            ++launchers_stuck;
        }
        if (!has_saved()) continue;

        ++resumed_runs;
        const std::string latest = std::filesystem::read_symlink(here_.path(run + "/saves/latest")).filename().string(),
                          updates = std::to_string(std::stoll(latest) + 6), whole = "whole" + updates;
        const ProgramResult resumed = train_together(2, fmt::format(" --resume {} --updates {}", run, updates));
        ASSERT_EQ(resumed.status, 0) << resumed.err;
        if (!here_.exists(whole)) {
            ASSERT_EQ(train(fmt::format(" --out {} --updates {}{}", whole, updates, endless)).status, 0);
        }
        for (const char* file : {"model", "moments"}) {
            const std::string name = fmt::format("saves/{}/{}.safetensors", updates, file);
            EXPECT_EQ(digests(run).at(name), digests(whole).at(name));
        }
        std::filesystem::remove_all(here_.path(run));
    }
    if (more)
        fmt::print("{} kills, {} runs resumed to the bytes of a run that never stopped, {} launchers did not return\n", kills,
                   resumed_runs, launchers_stuck);
}

TEST_F(ManyProcesses, SaveAndEndWhenTheirStarterIsSignalled) {
    std::string options = endless;
    const std::pair<std::string, const char*> changes[] = {{"--save-every 4", "--save-every 1000000 --save-on-signal USR1"},
                                                           {"--valid-every 5", "--valid-every 1000000"},
                                                           {"--log-every 1 ", "--log-every 20 "}};
    for (const auto& [from, to] : changes) options.replace(options.find(from), from.size(), to);
    // OpenMPI kills processes one second after SIGTERM unless told otherwise; a busy machine may need longer for a save. It
    // stops reading their output before it sends SIGTERM, so they must write little, or they would block until they are killed.
    for (const char* prefix : {"OMPI", "PRTE"}) setenv(fmt::format("{}_MCA_odls_base_sigkill_timeout", prefix).c_str(), "5", 1);
    const int starter = start_together("run", fmt::format("-n 2 {}", program(" --out run" + options)));
    for (const char* prefix : {"OMPI", "PRTE"}) unsetenv(fmt::format("{}_MCA_odls_base_sigkill_timeout", prefix).c_str());
    ASSERT_GT(starter, 0);
    const auto latest = [&] { return std::filesystem::read_symlink(here_.path("run/saves/latest")).filename().string(); };
    ASSERT_TRUE(comes([&] {
        return here_.exists("run/log.jsonl") && here_.read("run/log.jsonl").find("loss") != std::string::npos;
    })) << here_.read("run.log");
    ASSERT_FALSE(here_.exists("run/saves/latest"));

    ASSERT_EQ(kill(starter, SIGUSR1), 0);
    ASSERT_TRUE(comes([&] { return here_.exists("run/saves/latest"); })) << here_.read("run.log");
    const std::string first = latest();
    const std::size_t logged = here_.read("run/log.jsonl").size();
    EXPECT_TRUE(comes([&] { return here_.read("run/log.jsonl").size() > logged; })) << "training goes on";

    ASSERT_EQ(kill(starter, SIGTERM), 0);
    ASSERT_TRUE(comes([&] { return has_ended("run"); })) << here_.read("run.log");
    EXPECT_NE(here_.read("run.status"), "0\n");
    EXPECT_GT(std::stoll(latest()), std::stoll(first));
    std::string log = here_.read("run.log");
    log.erase(std::remove(log.begin(), log.end(), ','), log.end());
    EXPECT_THAT(log, HasSubstr(fmt::format("stopped by SIGTERM after update {} and saved", latest())));
    const ProgramResult resumed = train_together(2, fmt::format(" --resume run --updates {}", std::stoll(latest()) + 2));
    EXPECT_EQ(resumed.status, 0) << resumed.err;
}

}  // namespace
}  // namespace heddle
