// A training survives failures of its log and outputs, and ends with a save on signals.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "apps/translation/run/events.h"
#include "apps/translation/run/folder.h"
#include "core/digest.h"
#include "core/file.h"
#include "core/sanitizers.h"
#include "tests/program/program_process.h"

namespace heddle {
namespace {

namespace fs = std::filesystem;
using app::saved_updates;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using namespace std::chrono_literals;

const std::string tiny =
    " --task copy --layers 1 --d-model 16 --heads 2 --d-ff 32 --threads 1 --schedule constant --batch-tokens 60 --log-every 1 "
    "--valid-sentences 0"
    " --save-every 1000000";

class TrainingSurvives : public testing::Test {
  protected:
    ProgramResult train(const std::string& arguments) const { return here_.run("train" + arguments); }
    std::string model(const std::string& run) const {
        EXPECT_TRUE(here_.exists(run + "/model.safetensors"));
        return digest(here_.read(run + "/model.safetensors"));
    }
    // The exit status of a shell command line, in which HEDDLE is the program; -1 if a signal ended it.
    int shell(const std::string& line) const {
        here_.write("line.sh", "HEDDLE='" HEDDLE_PROGRAM "'\ncd '" + here_.path("") + "'\n" + line + "\n");
        const int status = std::system(("bash '" + here_.path("line.sh") + "'").c_str());
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    std::unique_ptr<RunningProgram> start(const std::string& arguments) const {
        std::istringstream stream("train" + arguments);
        return std::make_unique<RunningProgram>(
            here_, std::vector<std::string>(std::istream_iterator<std::string>(stream), std::istream_iterator<std::string>()));
    }
    void wait_for(const std::string& file, const std::string& text) const {
        for (int i = 0; i < 6000 && here_.read(file).find(text) == std::string::npos; ++i) std::this_thread::sleep_for(5ms);
        ASSERT_THAT(here_.read(file), HasSubstr(text));
    }
    // Expects that the stopped run has one save and, 20 updates later, the weights of a run that never stopped, and a readable
    // log.
    void expect_goes_on(const std::string& run) const {
        const std::vector<std::int64_t> saves = saved_updates(here_.path(run));
        ASSERT_EQ(saves.size(), 1u);
        const std::string end = " --updates " + std::to_string(saves[0] + 20);
        const ProgramResult resumed = train(" --resume " + run + end);
        EXPECT_EQ(resumed.status, 0) << resumed.err;
        EXPECT_THAT(resumed.err, HasSubstr("goes on from update"));
        const ProgramResult whole = train(" --out whole --overwrite" + tiny + end);
        EXPECT_EQ(whole.status, 0) << whole.err;
        EXPECT_EQ(model(run), model("whole"));
        for (const std::string& line : lines_of(here_.read(run + "/log.jsonl")))
            EXPECT_TRUE(nlohmann::json::accept(line)) << line;
    }

    const Workplace here_;
};

// ---- outputs

// As with `heddle train 2>&1 | tee log` when Ctrl-C ends tee first.
TEST_F(TrainingSurvives, TheReaderOfItsStderr) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t process = fork();
    if (process == 0) {
        signal(SIGPIPE, SIG_DFL);
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        const std::string line =
            "cd '" + here_.path("") + "' && exec '" HEDDLE_PROGRAM "' train --out run --updates 1000000" + tiny;
        execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
        _exit(127);
    }
    close(ends[1]);
    std::string said;
    for (char letter = 0; said.find("update      5") == std::string::npos && read(ends[0], &letter, 1) == 1;) said += letter;
    close(ends[0]);
    wait_for("run/log.jsonl", "stderr: cannot be written: Broken pipe");
    kill(process, SIGINT);
    int status = 0;
    waitpid(process, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGINT) << status << " " << said;
    EXPECT_THAT(here_.read("run/log.jsonl"), HasSubstr("stopped by Ctrl-C"));
    expect_goes_on("run");
}

TEST_F(TrainingSurvives, AFullOrClosedStderr) {
    ASSERT_EQ(train(" --out whole --updates 8" + tiny).status, 0);
    EXPECT_EQ(shell("\"$HEDDLE\" train --out full --updates 8" + tiny + " 2>/dev/full"), 0);
    EXPECT_THAT(here_.read("full/log.jsonl"), HasSubstr("stderr: cannot be written: No space left on device"));
    const std::string cut = " --positions learned --position-table 4 --valid-every 2 --updates 4";
    std::string validated = tiny;
    validated.replace(validated.find("--valid-sentences 0"), 19, "--valid-sentences 9");
    EXPECT_THAT(train(" --out cut" + cut + validated).err, HasSubstr("lines were cut to 4 tokens"));
    EXPECT_EQ(shell("\"$HEDDLE\" train --out silent" + cut + validated + " 2>/dev/full"), 0) << "of a validation, too";
    // Without descriptor 2 the first file to be opened would get its number.
    EXPECT_EQ(shell("\"$HEDDLE\" train --out closed --updates 8" + tiny + " 0<&- 1>&- 2>&-"), 0);
    EXPECT_THAT(here_.read("closed/log.jsonl"), HasSubstr("stderr: cannot be written: Bad file descriptor"));
    for (const char* run : {"full", "closed"}) {
        EXPECT_EQ(model(run), model("whole"));
        for (const std::string& line : lines_of(here_.read(run + std::string("/log.jsonl"))))
            EXPECT_TRUE(nlohmann::json::accept(line)) << line;
    }
}

TEST_F(TrainingSurvives, ARemovedLog) {
    const auto program = start(" --out run --updates 1000000" + tiny);
    wait_for("log", "update      5");
    fs::remove(here_.path("run/log.jsonl"));
    fs::remove(here_.path("run") + "/" + app::event_file_name);
    program->send(SIGTERM);
    EXPECT_EQ(program->wait(), 128 + SIGTERM) << here_.read("log");
    EXPECT_THAT(here_.read("run/log.jsonl"), HasSubstr("stopped by SIGTERM"));
    expect_goes_on("run");
}

TEST_F(TrainingSurvives, ALogThatCannotGrow) {
    ASSERT_EQ(train(" --out whole --updates 8" + tiny).status, 0);
    // Files are limited to a megabyte, and the log fills it; the weights are smaller.
    fs::create_directory(here_.path("run"));
    here_.write("run/log.jsonl", std::string((1 << 20) - 1, ' ') + "\n");
    EXPECT_EQ(shell("ulimit -f 1024; \"$HEDDLE\" train --out run --updates 4" + tiny + " 2>stderr"), 0) << here_.read("stderr");
    EXPECT_THAT(here_.read("stderr"),
                AllOf(HasSubstr("run/log.jsonl: cannot be written: File too large; training goes on without"),
                      HasSubstr("translate with: ")));
    EXPECT_EQ(fs::file_size(here_.path("run/log.jsonl")), 1u << 20);
    const ProgramResult resumed = train(" --resume run --updates 8");
    EXPECT_EQ(resumed.status, 0) << resumed.err;
    EXPECT_EQ(model("run"), model("whole"));
    EXPECT_GT(fs::file_size(here_.path("run/log.jsonl")), 1u << 20);
}

TEST_F(TrainingSurvives, ALogThatIsShorterThanItsSaveKnows) {
    ASSERT_EQ(train(" --out whole --updates 8" + tiny).status, 0);
    for (const char* left : {"nothing", "half a line"}) {
        ASSERT_EQ(train(" --out run --overwrite --updates 4" + tiny).status, 0);
        const fs::path log = here_.path("run/log.jsonl"), events = here_.path("run") + "/" + app::event_file_name;
        for (const fs::path& file : {log, events}) {
            if (left == std::string("nothing"))
                fs::remove(file);
            else
                fs::resize_file(file, fs::file_size(file) / 2 + 7);
        }
        const ProgramResult resumed = train(" --resume run --updates 8");
        EXPECT_EQ(resumed.status, 0) << resumed.err;
        EXPECT_EQ(model("run"), model("whole"));
        for (const std::string& line : lines_of(here_.read("run/log.jsonl"))) EXPECT_TRUE(nlohmann::json::accept(line)) << left;
        EXPECT_EQ(app::read_scalars(events).back().step, 8) << left;
    }
}

TEST_F(TrainingSurvives, AFolderOfSavesThatIsRemoved) {
    const auto program = start(" --out run --updates 1000000" + tiny);
    wait_for("log", "update      5");
    fs::remove_all(here_.path("run/saves"));
    program->send(SIGTERM);
    EXPECT_EQ(program->wait(), 128 + SIGTERM) << here_.read("log");
    EXPECT_EQ(saved_updates(here_.path("run")).size(), 1u);
}

// If the first validation ends while a save is being written, it is waited for, not made twice.
TEST_F(TrainingSurvives, AValidationBesideASave) {
    std::string soon = tiny;
    soon.replace(soon.find("--save-every 1000000"), 20, "--valid-every 5 --save-every 4 --updates 6 --keep 0");
    for (int i = 0; i < 5; ++i) {
        ASSERT_EQ(train(" --out soon --overwrite" + soon).status, 0);
        EXPECT_EQ(saved_updates(here_.path("soon")), (std::vector<std::int64_t>{4, 6}));
    }
}

// ---- signals

TEST_F(TrainingSurvives, EverySignalThatAsksItToEnd) {
    for (const auto& [signal, name] : {std::pair(SIGHUP, "SIGHUP"), std::pair(SIGXCPU, "SIGXCPU"), std::pair(SIGUSR1, "SIGUSR1"),
                                       std::pair(SIGUSR2, "SIGUSR2")}) {
        const auto program = start(std::string(" --out ") + name + " --updates 1000000" + tiny);
        wait_for("log", "update      5");
        for (int i = 0; i < 3; ++i) program->send(signal);  // a shell and its terminal both send a signal
        EXPECT_EQ(program->wait(), 128 + signal) << here_.read("log");
        EXPECT_THAT(here_.read("log"), AllOf(HasSubstr(std::string("stopped by ") + name + " after update"),
                                             HasSubstr(std::string("heddle train --resume ") + name)));
        expect_goes_on(name);
    }
}

TEST_F(TrainingSurvives, ASchedulersSignalFollowedBySigterm) {
    const auto program = start(" --out run --updates 1000000" + tiny);
    wait_for("log", "update      5");
    program->send(SIGUSR1);
    program->send(SIGTERM);  // its first SIGTERM has no further effect
    const int status = program->wait();
    EXPECT_TRUE(status == 128 + SIGUSR1 || status == 128 + SIGTERM) << status << " " << here_.read("log");
    expect_goes_on("run");
}

TEST_F(TrainingSurvives, ALimitOfProcessorTime) {
#if defined(HEDDLE_ADDRESS_SANITIZER) || defined(HEDDLE_THREAD_SANITIZER)
    const std::string seconds = "8";  // starting takes about one under a sanitizer
#else
    const std::string seconds = "1";
#endif
    EXPECT_EQ(shell("ulimit -S -t " + seconds + "; exec \"$HEDDLE\" train --out run --updates 100000000" + tiny + " 2>stderr"),
              128 + SIGXCPU);
    EXPECT_THAT(here_.read("stderr"), HasSubstr("stopped by SIGXCPU"));
    EXPECT_EQ(saved_updates(here_.path("run")).size(), 1u);
}

TEST_F(TrainingSurvives, ATerminalThatIsClosedUnderNohup) {
    void (*const before)(int) = signal(SIGHUP, SIG_IGN);  // as nohup does
    const auto program = start(" --out run --updates 1000000" + tiny);
    signal(SIGHUP, before);
    wait_for("log", "update      5");
    program->send(SIGHUP);
    int status = 0;
    EXPECT_FALSE(program->ends_within(300ms, status)) << here_.read("log");
    EXPECT_THAT(here_.read("log"), Not(HasSubstr("stopping")));
    program->send(SIGTERM);
    EXPECT_EQ(program->wait(), 128 + SIGTERM);
}

TEST_F(TrainingSurvives, TheSignalItSavesOn) {
    const auto program = start(" --out run --updates 1000000 --save-on-signal USR1" + tiny);
    wait_for("log", "update      5");
    program->send(SIGUSR1);
    wait_for("log", "saving update ");
    for (int i = 0; i < 6000 && !here_.exists("run/saves/latest"); ++i) std::this_thread::sleep_for(5ms);
    const std::vector<std::int64_t> first = saved_updates(here_.path("run"));
    ASSERT_EQ(first.size(), 1u) << here_.read("log");
    wait_for("log", fmt::format("update {:>6}", first.back() + 1));  // it continues
    program->send(SIGUSR2);                                          // the other signal ends it
    EXPECT_EQ(program->wait(), 128 + SIGUSR2) << here_.read("log");
    EXPECT_GT(saved_updates(here_.path("run")).back(), first.back());
    EXPECT_THAT(here_.read("run/config.toml"), HasSubstr("save-on-signal = \"USR1\""));
    expect_goes_on("run");
}

}  // namespace
}  // namespace heddle
